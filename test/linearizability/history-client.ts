import { type Client, type Commit, createClient } from "../../client/index.js";
import { conditionFrom, type PlannedCondition } from "./conditions.js";
import type { ModelChange, Output, Request, Seen } from "./history-types.js";
import { type Answer, askStore, documentShape, type Sending } from "./store-requests.js";

/*
 * One client in a process of its own: carries out a plan, one operation after the other, and tells what it was answered and
 * when, by the machine's monotonic clock, which all its processes share.
 */

type Planned<Change> = Change extends ModelChange ? Omit<Change, "condition"> : never;

/** A change whose condition is made of what the client has seen when its turn comes. */
export type PlannedChange = Planned<ModelChange> & { readonly planned: PlannedCondition };

/** What is to be done. */
export type PlannedOperation =
  | { readonly kind: "read"; readonly ids: readonly string[] }
  /** A list, page by page to its end. */
  | { readonly kind: "walk"; readonly prefix: string; readonly reverse: boolean; readonly limit: number }
  | {
      readonly kind: "write";
      readonly changes: readonly PlannedChange[];
      readonly sending: Sending;
      /** Sends it a second time with the same write id. */
      readonly again: boolean;
    };

/** What came of a request. */
export interface Recorded extends Answer {
  readonly request: Request;
  readonly sending: Sending;
  readonly called: bigint;
  readonly returned: bigint;
  /** The walk that this is a page of. */
  readonly walk?: number;
  /** What the second sending was answered. */
  readonly again?: Output;
}

/** What it is told: a plan, or to follow the documents of a prefix after a revision, until the last one comes. */
export type ClientMessage =
  | { readonly url: string; readonly plan: readonly PlannedOperation[] }
  | { readonly url: string; readonly prefix: string; readonly since: number; readonly last: string };

const seen = new Map<string, Seen>();
let walks = 0;

process.on("message", async (message: ClientMessage) => {
  const store = createClient({ url: message.url, retryFor: 2, timeout: 2 });
  if ("plan" in message) {
    const recorded: Recorded[] = [];
    for (const operation of message.plan) recorded.push(...(await carryOut(store, message.url, operation)));
    process.send?.(recorded);
  } else process.send?.(await follow(message.url, message));
  await store.close();
});
process.on("disconnect", () => process.exit(0));

async function carryOut(store: Client, url: string, operation: PlannedOperation): Promise<readonly Recorded[]> {
  const send = async (request: Request, sending: Sending, writeId?: string): Promise<Recorded> => {
    const called = process.hrtime.bigint();
    const answer = await askStore(store, url, request, sending, writeId);
    const returned = process.hrtime.bigint();
    remember(request, answer.output);
    return { request, sending, ...answer, called, returned };
  };
  if (operation.kind === "read") return [await send(operation, "client")];
  if (operation.kind === "walk") return walk((request) => send(request, "client"), operation);
  const reads: Recorded[] = [];
  for (const { id, planned } of operation.changes) {
    // What is to fit must have been seen.
    const needsLook = planned.fits && planned.form !== "none" && planned.form !== "absence" && !seen.has(id);
    if (needsLook) reads.push(await send({ kind: "read", ids: [id] }, "client"));
  }
  return [...reads, ...(await write(send, operation))];
}

async function write(
  send: (request: Request, sending: Sending, writeId?: string) => Promise<Recorded>,
  operation: PlannedOperation & { readonly kind: "write" },
): Promise<readonly Recorded[]> {
  const changes = operation.changes.map(settle);
  const writeId = operation.again ? `again-${process.pid}-${process.hrtime.bigint()}` : undefined;
  const first = await send({ kind: "write", changes }, operation.sending, writeId);
  const isOpen = first.output === undefined || first.output.kind === "written";
  if (writeId === undefined || !isOpen) return [first];
  const second = await send({ kind: "write", changes }, operation.sending, writeId);
  if (second.output?.kind !== "written") return [first];
  // What a lost answer had said is known now.
  if (first.output === undefined) return [{ ...second, called: first.called }];
  return [{ ...first, again: second.output }];
}

async function walk(
  send: (request: Request) => Promise<Recorded>,
  { prefix, reverse, limit }: PlannedOperation & { readonly kind: "walk" },
): Promise<readonly Recorded[]> {
  const pages: Recorded[] = [];
  const number = walks++;
  for (let after: string | null | undefined; after !== null; ) {
    const page: Recorded = await send({
      kind: "list",
      prefix,
      reverse,
      limit,
      ...(after === undefined ? {} : { after }),
    });
    pages.push({ ...page, walk: number });
    if (page.output?.kind !== "page" || page.output.next === after) break;
    after = page.output.next;
  }
  return pages;
}

async function follow(
  url: string,
  { prefix, since, last }: { readonly prefix: string; readonly since: number; readonly last: string },
): Promise<readonly Commit[]> {
  const store = createClient({ url });
  const commits: Commit[] = [];
  for await (const commit of store.watch({ shape: documentShape, prefix, since })) {
    if (commit.changes.length > 0) commits.push(commit);
    if (commit.changes.some(({ id }) => id === last)) break;
  }
  await store.close();
  return commits;
}

function settle({ planned, ...change }: PlannedChange): ModelChange {
  const condition =
    change.kind === "check" && planned.form === "none" ? { exists: true } : conditionFrom(planned, seen.get(change.id));
  return condition === undefined ? change : { ...change, condition };
}

function remember(request: Request, output: Output | undefined): void {
  const note = (id: string | undefined, found: Seen | null): void => {
    if (id === undefined) return;
    if (found === null) seen.delete(id);
    else seen.set(id, found);
  };
  if (request.kind === "read" && output?.kind === "read") {
    for (const [index, id] of request.ids.entries()) note(id, output.documents[index] ?? null);
  }
  if (output?.kind === "page") for (const { id, ...found } of output.documents) note(id, found);
  if (request.kind !== "write") return;
  if (output?.kind === "refused")
    for (const { change, current } of output.failures) note(request.changes[change]?.id, current);
  if (output?.kind !== "written") return;
  for (const [index, change] of request.changes.entries()) {
    const deadline = output.results[index]?.deadline ?? null;
    if (change.kind === "delete") seen.delete(change.id);
    if (change.kind === "put") note(change.id, { fields: change.fields, revision: output.revision, deadline });
    if (change.kind === "patch") seen.delete(change.id);
  }
}
