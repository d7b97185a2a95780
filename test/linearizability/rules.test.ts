import { describe, expect, it } from "vitest";
import type { Change } from "../../client/index.js";
import { joinWatches, type LoggedState, statesOf } from "./commit-log.js";
import { settle } from "./commits-of-writes.js";
import type { HistoryOperation, ModelChange, Output, Request, Seen } from "./history-types.js";
import type { ReceivedCommit } from "./history-watcher.js";
import { checkRealTimeOrder } from "./real-time-order.js";
import { documentShape } from "./store-requests.js";
import { checkFollowed, checkWalk, type Page } from "./walks.js";

const instant = Date.UTC(2026, 0, 1);
const created = { deadline: null, created: true };
const replaced = { deadline: null, created: false };

/** What a watcher is told of a document that was put with a number. */
function put(id: string, value: number, revision: number, createdRevision = revision, deadline?: number): Change {
  const at = new Date(instant).toISOString();
  const expires_at = deadline === undefined ? null : new Date(deadline).toISOString();
  const times = { created_at: at, updated_at: at, expires_at, as_of: at };
  const document = {
    shape: documentShape,
    id,
    fields: { value },
    revision,
    created_revision: createdRevision,
    ...times,
  };
  return { type: "put", shape: documentShape, id, document };
}

function end(type: "delete" | "expire", id: string): Change {
  return { type, shape: documentShape, id, document: null };
}

/** Received ten units of time after it is due to be written: at 10 for revision 1, at 20 for 2. */
function commit(revision: number, ...changes: readonly Change[]): ReceivedCommit {
  return { revision, changes, received: BigInt(revision * 10) };
}

function watched(byStream: readonly ReceivedCommit[], byClient = byStream): readonly ReceivedCommit[] {
  return joinWatches({ byClient, byStream, resumed: 0 }, 0);
}

function logged(...commits: readonly ReceivedCommit[]): readonly LoggedState[] {
  return statesOf(watched(commits), 0, () => instant);
}

function ask(request: Request, output: Output | undefined, called: number, returned: number): HistoryOperation {
  const times = { earliest: instant, latest: output === undefined ? Number.POSITIVE_INFINITY : instant };
  const back = output === undefined ? undefined : BigInt(returned);
  return { input: { ...request, ...times }, output, called: BigInt(called), returned: back };
}

function write(
  changes: readonly ModelChange[],
  output: Output | undefined,
  called = 0,
  returned = 9,
): HistoryOperation {
  return ask({ kind: "write", changes }, output, called, returned);
}

function putting(id: string, value: number): ModelChange {
  return { id, kind: "put", fields: { value } };
}

function written(revision: number, ...results: readonly (typeof created)[]): Output {
  return { kind: "written", revision, results };
}

function read(
  documents: { readonly [id: string]: Seen | null },
  called: number,
  returned = called + 1,
): HistoryOperation {
  return ask(
    { kind: "read", ids: Object.keys(documents) },
    { kind: "read", documents: Object.values(documents) },
    called,
    returned,
  );
}

function seen(value: number, revision: number): Seen {
  return { fields: { value }, revision, deadline: null };
}

const one = commit(1, put("a", 1, 1), put("b", 1, 1));
const two = commit(2, put("a", 2, 2, 1), put("b", 2, 2, 1));
const both = [putting("a", 1), putting("b", 1)];
const bothAgain = [putting("a", 2), putting("b", 2)];

describe("what watchers receive", () => {
  it("is each commit once, in order, and the same in both ways", () => {
    expect(watched([one, two])).toHaveLength(2);
    expect(() => watched([one, one, two], [one, two])).toThrow("watch: the stream gives 1 after 1");
    expect(() => watched([two, one], [one, two])).toThrow("watch: the stream gives 1 after 2");
    expect(() => watched([one], [one, two])).toThrow("where the stream gives nothing");
    expect(() => watched([one, two], [one, commit(2, put("a", 2, 2, 1))])).toThrow("watch: the client gives");
  });

  it("can follow what came before", () => {
    expect(logged(one, commit(2, end("delete", "a")))).toHaveLength(3);
    expect(() => logged(one, commit(2, end("delete", "c")))).toThrow("an end of what was not there");
    expect(() => logged(one, commit(2, put("a", 2, 1, 1)))).toThrow("a put without its document");
    expect(() => logged(one, commit(2, put("a", 2, 2, 2)))).toThrow("a life that begins at 2");
  });

  it("has an expiry once, and not before its time", () => {
    const mortal = (deadline: number) => commit(1, put("a", 1, 1, 1, deadline));
    expect(logged(mortal(instant), commit(2, end("expire", "a")))).toHaveLength(3);
    expect(() => logged(mortal(instant + 1), commit(2, end("expire", "a")))).toThrow("an expiry before its time");
    expect(() => logged(mortal(instant), commit(2, end("expire", "a")), commit(3, end("expire", "a")))).toThrow(
      "an end of what was not there",
    );
  });
});

describe("commits and the writes that made them", () => {
  const answered = write(both, written(1, created, created));
  const count = (...args: Parameters<typeof settle>) => {
    const { operations, applied, lost } = settle(...args);
    return [operations.length, applied, lost];
  };

  it("are found for answered writes, and for those without an answer", () => {
    expect(count([answered], logged(one), instant)).toEqual([1, 0, 0]);
    expect(count([write(both, undefined)], logged(one), instant)).toEqual([1, 1, 0]);
    expect(count([write(both, undefined)], logged(), instant)).toEqual([0, 0, 1]);
    // Of two that are alike in what they write, the condition tells.
    const delayed = [{ id: "a", kind: "delete", condition: { revision: 2 } }] as const;
    const at1 = [{ id: "a", kind: "delete", condition: { revision: 1 } }] as const;
    const states = logged(one, commit(2, end("delete", "a")));
    expect(count([answered, write(delayed, undefined), write(at1, undefined)], states, instant)).toEqual([2, 1, 1]);
  });

  it("are found for deletes that were told one revision: who began later found nothing", () => {
    const states = logged(one, commit(2, end("delete", "a")));
    const gone = written(2, replaced);
    const early = write([{ id: "a", kind: "delete" }], gone, 11, 30);
    const late = write([{ id: "a", kind: "delete" }], gone, 12, 29);
    const { operations } = settle([answered, late, early], states, instant);
    const makers = operations.filter(({ place, madeCommit }) => place === 2 && madeCommit);
    expect(makers.map(({ operation }) => operation.called)).toEqual([11n]);
    expect(operations.filter(({ place, madeCommit }) => place === 2 && !madeCommit)).toHaveLength(1);
    // One that must have found the document cannot have come second.
    const found = write([{ id: "a", kind: "delete", condition: { exists: true } }], gone, 12, 29);
    expect(() => settle([answered, early, found], states, instant)).toThrow("two writes have made 2");
  });

  it("are refused: an acknowledged write that no commit holds", () => {
    expect(() => settle([answered], logged(), instant)).toThrow("commits:");
    expect(() => settle([answered], logged(commit(1, put("a", 1, 1))), instant)).toThrow("commits:");
    expect(() => settle([answered], logged(commit(1, put("a", 1, 1), put("b", 2, 1))), instant)).toThrow("commits:");
    const split = [commit(1, put("a", 1, 1)), commit(2, put("b", 1, 2))];
    expect(() => settle([write(both, written(2, created, created))], logged(...split), instant)).toThrow("commits:");
  });

  it("are refused: a commit that nobody made, that a refused write made, or that one write made twice", () => {
    expect(() => settle([], logged(one), instant)).toThrow("nobody has made all of");
    const refused: Output = { kind: "refused", failures: [{ change: 0, current: null }] };
    const conditional = [{ ...putting("a", 1), condition: { exists: true } }];
    expect(() => settle([write(conditional, refused)], logged(commit(1, put("a", 1, 1))), instant)).toThrow(
      "nobody has made all of",
    );
    expect(() => settle([write(conditional, undefined)], logged(commit(1, put("a", 1, 1))), instant)).toThrow(
      "nobody has made all of",
    );
    const twice = logged(one, commit(2, put("a", 1, 2, 1), put("b", 1, 2, 1)));
    expect(() => settle([write(both, undefined)], twice, instant)).toThrow("nobody has made all of");
    expect(() => settle([answered, answered], logged(one), instant)).toThrow("two writes have made 1");
  });

  it("are refused: one that was seen before its write was called", () => {
    expect(() => settle([write(both, undefined, 11)], logged(one), instant)).toThrow("nobody has made all of");
  });
});

describe("the order of what is told", () => {
  const states = logged(one, two);
  const history = [write(both, written(1, created, created)), write(bothAgain, written(2, replaced, replaced), 1, 19)];
  const check = (...others: readonly HistoryOperation[]) => {
    checkRealTimeOrder(settle([...history, ...others], states, instant).operations, states);
  };

  it("lets readers see a batch whole, and the newest that was told, or a newer one", () => {
    expect(() => check(read({ a: seen(1, 1), b: seen(1, 1) }, 10))).not.toThrow();
    expect(() => check(read({ a: seen(2, 2), b: seen(2, 2) }, 10))).not.toThrow();
    expect(() => check(read({ a: null, b: null }, 2))).not.toThrow();
  });

  it("refuses half of a batch", () => {
    expect(() => check(read({ a: seen(1, 1), b: seen(2, 2) }, 2))).toThrow("order:");
    expect(() => check(read({ a: seen(1, 1), b: null }, 2))).toThrow("order:");
  });

  it("refuses what is older than what a write, another reader or a watcher was told before", () => {
    expect(() => check(read({ a: seen(1, 1) }, 30))).toThrow("order:");
    expect(() => check(read({ a: null }, 12))).toThrow("order:");
    expect(() => check(read({ a: seen(2, 2) }, 3, 4), read({ a: seen(1, 1) }, 5, 6))).toThrow("order:");
  });

  it("refuses revisions against real time", () => {
    const late = [write(both, written(1, created, created), 40, 41), write(bothAgain, undefined, 1)];
    expect(() => checkRealTimeOrder(settle(late, states, instant).operations, states)).toThrow("had been told");
  });
});

describe("lists", () => {
  const page = (revision: number, next: string | null, ...ids: readonly string[]): Page => {
    return { kind: "page", documents: ids.map((id) => ({ id, ...seen(revision, revision) })), next, revision };
  };
  const states = logged(one, two);

  it("are in order over all pages, with nothing twice and nothing missing", () => {
    const check = (...pages: readonly Page[]) => checkWalk({ reverse: false, pages }, states, instant);
    expect(() => check(page(1, "a", "a"), page(2, null, "b"))).not.toThrow();
    expect(() => check(page(1, "a", "a"), page(2, null, "a", "b"))).toThrow("a comes after a");
    expect(() => check(page(1, "b", "b"), page(2, null, "a"))).toThrow("a comes after b");
    expect(() => check(page(1, "a", "a"), page(2, null))).toThrow("b is missing");
    expect(() => checkWalk({ reverse: true, pages: [page(2, null, "b", "a")] }, states, instant)).not.toThrow();
  });

  it("are of the moment that each page names", () => {
    const list = { kind: "list", prefix: "", reverse: false, limit: 9 } as const;
    const check = (output: Page) => {
      const operations = [
        write(both, written(1, created, created)),
        write(bothAgain, undefined, 1),
        ask(list, output, 2, 3),
      ];
      checkRealTimeOrder(settle(operations, states, instant).operations, states);
    };
    expect(() => check(page(1, null, "a", "b"))).not.toThrow();
    expect(() => check(page(2, null, "a", "b"))).not.toThrow();
    expect(() => check({ ...page(1, null, "a", "b"), revision: 2 })).toThrow("is not what was there");
    expect(() => check(page(1, null, "a"))).toThrow("is not what was there");
    expect(() => check(page(7, null, "a", "b"))).toThrow("is not what was there");
  });

  it("are, with what is watched from the first page on, what is there in the end", () => {
    const pages = [page(1, "a", "a"), page(2, null, "b")];
    const walk = { reverse: false, pages, final: page(2, null, "a", "b") };
    expect(() => checkFollowed({ ...walk, commits: [two] }, states)).not.toThrow();
    expect(() => checkFollowed({ ...walk, commits: [one, two] }, states)).toThrow("watch:");
    expect(() => checkFollowed({ ...walk, commits: [] }, states)).toThrow("walk:");
  });
});
