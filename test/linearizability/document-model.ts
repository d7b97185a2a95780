import type { Model, Operation } from "./checker.js";

/*
 * What a few documents of a store may answer, as the contract says: conditions, revisions that only grow, deadlines. Values are
 * numbers, one for each write, so that every read names its write.
 */

/** A condition of one operation. */
export type ModelCondition =
  | { readonly exists: boolean }
  | { readonly revision: number }
  /** The document's value. */
  | { readonly value: number };

/** One change of a write. */
export interface ModelChange {
  readonly id: string;
  /** null: delete. */
  readonly value: number | null;
  /** Milliseconds; absent: for ever. */
  readonly ttl?: number | undefined;
  readonly condition?: ModelCondition | undefined;
}

/** What a client asked for. Between `earliest` and `latest` lies the store's now, whenever the operation took effect. */
export type Input = (
  | { readonly kind: "get"; readonly id: string }
  | { readonly kind: "write"; readonly changes: readonly ModelChange[] }
) & {
  readonly earliest: number;
  /** For an unknown outcome Infinity. */
  readonly latest: number;
};

/** A document as an answer shows it. */
export interface Seen {
  readonly value: number;
  readonly revision: number;
  /** Milliseconds since 1970; null: none. */
  readonly deadline: number | null;
}

/** What it was answered. */
export type Output =
  | ({ readonly kind: "found" } & Seen)
  | { readonly kind: "absent" }
  /** @param deadlines of each change, milliseconds since 1970; null: none */
  | { readonly kind: "written"; readonly revision: number; readonly deadlines: readonly (number | null)[] }
  /** The condition of that change does not hold, and what is there instead. */
  | { readonly kind: "refused"; readonly change: number; readonly current: Seen | null };

interface ModelDocument {
  readonly value: number;
  /** undefined: the write's answer was lost, and no reader has told since. */
  readonly revision: number | undefined;
  /** It is beyond this. */
  readonly after: number;
  /** Where the write's answer was lost: not before `from`. */
  readonly deadline: number | null | { readonly from: number };
}

/** The documents that are there, and what is known of revision and time. */
export interface State {
  readonly documents: { readonly [id: string]: ModelDocument };
  /** The newest revision that is known. */
  readonly revision: number;
  /** The store's now is not before this. */
  readonly now: number;
}

export const documentModel: Model<State, Input, Output> = {
  initial: { documents: {}, revision: 0, now: 0 },
  step: (state, input, output) => (input.kind === "get" ? read(state, input, output) : write(state, input, output)),
  textOf: ({ documents, revision, now }) => {
    const entries = Object.entries(documents).sort(([a], [b]) => (a < b ? -1 : 1));
    return JSON.stringify([
      revision,
      now,
      entries.map(([id, each]) => [id, each.value, each.revision ?? -each.after, each.deadline]),
    ]);
  },
};

type Reading = Input & { readonly kind: "get" };
type Writing = Input & { readonly kind: "write" };

function read(state: State, input: Reading, output: Output | undefined): readonly State[] {
  // A read whose answer was lost changes nothing.
  if (output === undefined) return [state];
  return lookAt(state, input, input.id).flatMap(({ state: seen, document }) => {
    if (output.kind === "absent") return document === undefined ? [seen] : [];
    return output.kind === "found" && document !== undefined ? match(seen, input.id, document, output) : [];
  });
}

function write(state: State, input: Writing, output: Output | undefined): readonly State[] {
  let branches: readonly { readonly state: State; readonly refused: number | undefined }[] = [
    { state, refused: undefined },
  ];
  for (const [index, change] of input.changes.entries()) {
    branches = branches.flatMap((branch) => {
      if (branch.refused !== undefined) return [branch];
      return judge(branch.state, input, change).map(({ state: seen, holds }) => ({
        state: seen,
        refused: holds ? undefined : index,
      }));
    });
  }
  return branches.flatMap((branch) => conclude(branch.state, branch.refused, input, output));
}

function conclude(
  state: State,
  refused: number | undefined,
  input: Writing,
  output: Output | undefined,
): readonly State[] {
  if (output === undefined)
    return refused === undefined ? apply(state, input, undefined, Math.max(state.now, input.earliest)) : [];
  if (output.kind === "refused") {
    if (refused !== output.change) return [];
    const id = input.changes[refused]?.id ?? "";
    return lookAt(state, input, id).flatMap(({ state: seen, document }) => {
      if (output.current === null) return document === undefined ? [seen] : [];
      return document === undefined ? [] : match(seen, id, document, output.current);
    });
  }
  if (output.kind !== "written" || refused !== undefined) return [];
  // A delete of what is absent changes nothing, and answers the store's current revision.
  const changes = input.changes.some(({ id, value }) => value !== null || state.documents[id] !== undefined);
  if (changes ? output.revision <= state.revision : output.revision < state.revision) return [];
  const now = nowOf(input, output, state);
  return now === undefined ? [] : apply({ ...state, now }, input, output.revision, now);
}

/** The store's now, which a deadline tells to the millisecond; undefined: no such now is possible. */
function nowOf(input: Writing, output: Output & { readonly kind: "written" }, state: State): number | undefined {
  let now: number | undefined;
  for (const [index, { value, ttl }] of input.changes.entries()) {
    const deadline = output.deadlines[index] ?? null;
    if (value === null || ttl === undefined) {
      if (deadline !== null) return undefined;
      continue;
    }
    if (deadline === null) return undefined;
    const told = deadline - ttl;
    if (now !== undefined && told !== now) return undefined;
    now = told;
  }
  if (now === undefined) return Math.max(state.now, input.earliest);
  return now >= Math.max(state.now, input.earliest) && now <= input.latest ? now : undefined;
}

function apply(state: State, input: Writing, revision: number | undefined, now: number): readonly State[] {
  const documents: { [id: string]: ModelDocument } = { ...state.documents };
  for (const { id, value, ttl } of input.changes) {
    if (value === null) {
      delete documents[id];
      continue;
    }
    const end = ttl === undefined ? null : now + ttl;
    // Of a write whose answer was lost it is only known when it was written at the earliest.
    const deadline = end === null || revision !== undefined ? end : { from: end };
    documents[id] = { value, revision, after: state.revision, deadline };
  }
  return [{ documents, revision: Math.max(state.revision, revision ?? 0), now }];
}

/** A document as it may be at the operation's instant: there, or gone since its deadline. */
function lookAt(
  state: State,
  input: Input,
  id: string,
): readonly { readonly state: State; readonly document: ModelDocument | undefined }[] {
  const document = state.documents[id];
  const now = Math.max(state.now, input.earliest);
  if (document === undefined || document.deadline === null) return [{ state: { ...state, now }, document }];
  const { [id]: _, ...others } = state.documents;
  const gone = { ...state, documents: others };
  const { deadline } = document;
  const isKnown = typeof deadline === "number";
  const end = isKnown ? deadline : deadline.from;
  return [
    ...(now < end || !isKnown ? [{ state: { ...state, now }, document }] : []),
    ...(input.latest >= end ? [{ state: { ...gone, now: Math.max(now, end) }, document: undefined }] : []),
  ];
}

function judge(
  state: State,
  input: Input,
  { id, condition }: ModelChange,
): readonly { readonly state: State; readonly holds: boolean }[] {
  return lookAt(state, input, id).flatMap(({ state: seen, document }) => {
    if (condition === undefined) return [{ state: seen, holds: true }];
    if ("exists" in condition) return [{ state: seen, holds: condition.exists === (document !== undefined) }];
    if ("value" in condition) return [{ state: seen, holds: document?.value === condition.value }];
    if (document === undefined) return [{ state: seen, holds: false }];
    if (document.revision !== undefined) return [{ state: seen, holds: document.revision === condition.revision }];
    return [
      ...reveal(seen, id, document, condition.revision).map((told) => ({ state: told, holds: true })),
      { state: seen, holds: false },
    ];
  });
}

/** The state when a document was seen so; none when it cannot have been. */
function match(state: State, id: string, document: ModelDocument, seen: Seen): readonly State[] {
  if (document.value !== seen.value) return [];
  const { deadline } = document;
  const fits =
    typeof deadline === "object" && deadline !== null
      ? seen.deadline !== null && seen.deadline >= deadline.from && seen.deadline > state.now
      : deadline === seen.deadline;
  return fits ? reveal(state, id, { ...document, deadline: seen.deadline }, seen.revision) : [];
}

/** A document whose revision somebody has told; none when it cannot be that one. */
function reveal(state: State, id: string, document: ModelDocument, revision: number): readonly State[] {
  const isPossible = document.revision === undefined ? revision > document.after : revision === document.revision;
  if (!isPossible) return [];
  const documents = { ...state.documents, [id]: { ...document, revision } };
  return [{ ...state, documents, revision: Math.max(state.revision, revision) }];
}

/** Parts of a history that have no document in common, each to be judged by itself: linearizability is local to them. */
export function partsOf(
  history: readonly Operation<Input, Output>[],
): readonly (readonly Operation<Input, Output>[])[] {
  const groups: { readonly ids: Set<string>; readonly operations: Operation<Input, Output>[] }[] = [];
  for (const operation of history) {
    const { input } = operation;
    const ids = new Set(input.kind === "get" ? [input.id] : input.changes.map(({ id }) => id));
    const joined = groups.filter((group) => [...ids].some((id) => group.ids.has(id)));
    for (const group of joined) groups.splice(groups.indexOf(group), 1);
    groups.push({
      ids: new Set([...ids, ...joined.flatMap((group) => [...group.ids])]),
      operations: [...joined.flatMap((group) => group.operations), operation],
    });
  }
  return groups.map(({ operations }) => operations);
}
