import type { Change } from "../../client/index.js";
import type { ModelDocument, State } from "./document-model.js";
import type { ReceivedCommit, WatcherAnswer } from "./history-watcher.js";
import { documentShape, shownBy } from "./store-requests.js";
import { Violation } from "./violation.js";

/** What all documents are from one commit on. */
export interface LoggedState {
  readonly state: State;
  /** undefined: before the first one. */
  readonly commit: ReceivedCommit | undefined;
}

/**
 * The commits that two watchers have received, each once, in order, and both the same.
 *
 * @param last the revision that was received before
 * @throws Violation
 */
export function joinWatches({ byClient, byStream }: WatcherAnswer, last: number): readonly ReceivedCommit[] {
  for (const [way, commits] of [
    ["the client", byClient],
    ["the stream", byStream],
  ] as const) {
    let before = last;
    for (const { revision } of commits) {
      if (revision <= before) throw new Violation("watch", `${way} gives ${revision} after ${before}`);
      before = revision;
    }
  }
  for (let index = 0; index < Math.max(byClient.length, byStream.length); index++) {
    const [one, other] = [byClient[index], byStream[index]];
    if (textOf(one) === textOf(other)) continue;
    throw new Violation("watch", `the client gives ${textOf(one)} where the stream gives ${textOf(other)}`);
  }
  return byClient.map((commit, index) => {
    const other = byStream[index];
    return other !== undefined && other.received < commit.received ? { ...commit, received: other.received } : commit;
  });
}

/** A commit as text, without what is of the moment of its telling. */
export function textOf(commit: { readonly revision: number; readonly changes: readonly Change[] } | undefined): string {
  if (commit === undefined) return "nothing";
  const changes = commit.changes.map(({ document, ...change }) => {
    if (document === null) return change;
    const { as_of: _, ...lasting } = document;
    return { ...change, ...lasting };
  });
  return JSON.stringify([commit.revision, changes]);
}

/**
 * The state after each commit, the first of them before all.
 *
 * @param clockAt the latest that the store's clock can have shown at an instant
 * @throws Violation when a commit cannot follow the one before
 */
export function statesOf(
  commits: readonly ReceivedCommit[],
  last: number,
  clockAt: (instant: bigint) => number,
): readonly LoggedState[] {
  const states: LoggedState[] = [{ state: { documents: {}, revision: last }, commit: undefined }];
  const created = new Map<string, number>();
  let documents: { readonly [id: string]: ModelDocument } = {};
  for (const commit of commits) {
    const { revision, changes } = commit;
    const fail = (what: string): never => {
      throw new Violation("watch", `${what}: ${textOf(commit)} after ${JSON.stringify(documents)}`);
    };
    for (const { type, shape, id, document } of changes) {
      const before = documents[id];
      if (shape !== documentShape) fail("a shape that nobody wrote");
      if (type === "put") {
        if (document === null || document.revision !== revision) return fail("a put without its document");
        if (before === undefined) created.set(id, revision);
        if (document.created_revision !== created.get(id)) fail(`a life that begins at ${document.created_revision}`);
        documents = { ...documents, [id]: { ...shownBy(document), after: 0 } };
        continue;
      }
      const { [id]: gone, ...others } = documents;
      if (document !== null || gone === undefined) fail("an end of what was not there");
      const deadline = gone?.deadline ?? null;
      const isOver = typeof deadline === "number" && deadline <= clockAt(commit.received);
      if (type === "expire" && !isOver) fail("an expiry before its time");
      documents = others;
    }
    states.push({ state: { documents, revision }, commit });
  }
  return states;
}
