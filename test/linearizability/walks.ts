import type { Commit } from "../../client/index.js";
import { type LoggedState, textOf } from "./commit-log.js";
import type { Recorded } from "./history-client.js";
import type { Output, Seen } from "./history-types.js";
import { shownBy } from "./store-requests.js";
import { Violation } from "./violation.js";

export type Page = Output & { readonly kind: "page" };

/** A list, page by page to its end. */
export interface Walk {
  readonly reverse: boolean;
  readonly pages: readonly Page[];
}

/** A walk, and what was watched from its first page's revision on. */
export interface FollowedWalk extends Walk {
  readonly commits: readonly Commit[];
  /** What a list gave when all was over. */
  readonly final: Page;
}

/** The walks of one client that came to their end, with every page answered. */
export function walksOf(recorded: readonly Recorded[]): readonly Walk[] {
  const walks = new Map<number, Recorded[]>();
  for (const page of recorded) {
    if (page.walk === undefined) continue;
    walks.set(page.walk, [...(walks.get(page.walk) ?? []), page]);
  }
  return [...walks.values()].flatMap((pages) => {
    const outputs = pages.flatMap(({ output }) => (output?.kind === "page" ? [output] : []));
    const [first] = pages;
    const isWhole = outputs.length === pages.length && outputs.at(-1)?.next === null;
    if (!isWhole || first?.request.kind !== "list") return [];
    return [{ reverse: first.request.reverse, pages: outputs }];
  });
}

/**
 * Over all pages no document comes twice or out of order, and what stood there from the first to the last is not missing.
 *
 * @param end an instant that the store's clock does not show before the walk is over
 * @throws Violation
 */
export function checkWalk({ reverse, pages }: Walk, states: readonly LoggedState[], end: number): void {
  const ids = pages.flatMap(({ documents }) => documents.map(({ id }) => id));
  for (const [index, id] of ids.entries()) {
    const before = ids[index - 1];
    const isBehind = before === undefined || (reverse ? id < before : id > before);
    if (!isBehind) throw new Violation("walk", `${id} comes after ${before}: ${JSON.stringify(pages)}`);
  }
  const [first, last] = [pages[0]?.revision ?? 0, pages.at(-1)?.revision ?? 0];
  const during = states.filter(({ state: { revision } }) => revision >= first && revision <= last);
  for (const id of Object.keys(during[0]?.state.documents ?? {})) {
    const stands = during.every(({ state }) => {
      const document = state.documents[id];
      return document !== undefined && (document.deadline === null || Number(document.deadline) > end);
    });
    if (stands && !ids.includes(id)) throw new Violation("walk", `${id} is missing: ${JSON.stringify(pages)}`);
  }
}

/**
 * A list and what is watched from its first page's revision on are, together, what is there in the end.
 *
 * @throws Violation
 */
export function checkFollowed({ pages, commits, final }: FollowedWalk, states: readonly LoggedState[]): void {
  const first = pages[0]?.revision ?? 0;
  const last = commits.at(-1)?.revision ?? first;
  const received = states.flatMap(({ commit }) =>
    commit !== undefined && commit.revision > first && commit.revision <= last ? [textOf(commit)] : [],
  );
  if (commits.map(textOf).join("\n") !== received.join("\n")) {
    throw new Violation(
      "watch",
      `from ${first} on there came ${commits.map(textOf).join()} and not ${received.join()}`,
    );
  }
  const documents = new Map<string, Seen>();
  for (const { id, ...seen } of pages.flatMap((page) => page.documents)) documents.set(id, seen);
  for (const { id, document } of commits.flatMap(({ changes }) => changes)) {
    if (document === null) documents.delete(id);
    else documents.set(id, shownBy(document));
  }
  const expected = final.documents.map(({ id, ...seen }) => [id, seen] as const);
  const found = [...documents].sort(([a], [b]) => (a < b ? -1 : 1));
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Violation(
      "walk",
      `a list and what followed it are ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`,
    );
  }
}
