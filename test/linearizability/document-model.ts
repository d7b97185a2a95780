import type { Model } from "./checker.js";
import type {
  HistoryOperation,
  Input,
  ModelChange,
  ModelCondition,
  ModelFields,
  Output,
  Request,
  Seen,
} from "./history-types.js";

/*
 * What a few documents of a store may answer, as the contract says: conditions, merge patches, revisions that only grow,
 * deadlines, snapshots.
 */

/** A document that is there, unless its deadline is over. */
export interface ModelDocument {
  readonly fields: ModelFields;
  /** undefined: the write's answer was lost, and no reader has told since. */
  readonly revision: number | undefined;
  /** It is beyond this. */
  readonly after: number;
  /** Where the write's answer was lost: not before `from`. */
  readonly deadline: number | null | { readonly from: number };
}

/** The documents that are there, and the newest revision that is known. */
export interface State {
  readonly documents: { readonly [id: string]: ModelDocument };
  readonly revision: number;
}

type Answer<Kind extends Output["kind"]> = Output & { readonly kind: Kind };
type Asked<Kind extends Request["kind"]> = Input & { readonly kind: Kind };

export const documentModel: Model<State, Input, Output> = {
  initial: { documents: {}, revision: 0 },
  step: (state, input, output) => {
    const told = output?.now ?? nowOf(input, output);
    if (told !== undefined && (told < input.earliest || told > input.latest)) return [];
    const then = told === undefined ? input : { ...input, earliest: told, latest: told };
    if (then.kind === "write") return write(state, then, output);
    // A read whose answer was lost changes nothing.
    if (output === undefined) return [state];
    if (then.kind === "read") return output.kind === "read" ? read(state, then, then.ids, output.documents) : [];
    return output.kind === "page" ? list(state, then, output) : [];
  },
  textOf: ({ documents, revision }) => {
    const entries = Object.entries(documents).sort(([a], [b]) => (a < b ? -1 : 1));
    return JSON.stringify([
      revision,
      entries.map(([id, each]) => [id, sorted(each.fields), each.revision ?? -each.after, each.deadline]),
    ]);
  },
};

function sorted(fields: ModelFields): readonly (readonly [string, number])[] {
  return Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
}

function read(
  state: State,
  input: Input,
  ids: readonly string[],
  documents: readonly (Seen | null)[],
): readonly State[] {
  let states: readonly State[] = [state];
  for (const [index, id] of ids.entries()) {
    const seen = documents[index] ?? null;
    if (seen !== null && seen.deadline !== null && seen.deadline <= input.earliest) return [];
    states = states.flatMap((each) => lookAt(each, input, id).flatMap((found) => matches(found, id, seen)));
  }
  return states;
}

function matches({ state, document }: Found, id: string, seen: Seen | null): readonly State[] {
  if (seen === null || document === undefined) return seen === null && document === undefined ? [state] : [];
  return match(state, id, document, seen);
}

/** A page shows all that is there from where it begins to where the next one does. */
function list(state: State, input: Asked<"list">, output: Answer<"page">): readonly State[] {
  const { prefix, after, reverse, limit } = input;
  const { documents, next, revision } = output;
  const isBefore = (one: string, other: string): boolean => (reverse ? one > other : one < other);
  const isCovered = (id: string): boolean =>
    id.startsWith(prefix) && (after === undefined || isBefore(after, id)) && (next === null || !isBefore(next, id));
  const shown = new Map(documents.map((document) => [document.id, document]));
  const ids = documents.map(({ id }) => id);
  if (documents.length > limit || shown.size !== documents.length || !ids.every(isCovered)) return [];
  if (ids.some((id, index) => index > 0 && !isBefore(ids[index - 1] ?? "", id))) return [];
  const asked = [...new Set([...Object.keys(state.documents).filter(isCovered), ...ids])];
  const seen = asked.map((id) => shown.get(id) ?? null);
  return read(state, input, asked, seen).flatMap((each) => (each.revision > revision ? [] : [{ ...each, revision }]));
}

interface Branch {
  readonly state: State;
  readonly failed: readonly number[];
  readonly isMissing: boolean;
}

function write(state: State, input: Asked<"write">, output: Output | undefined): readonly State[] {
  let branches: readonly Branch[] = [{ state, failed: [], isMissing: false }];
  for (const [index, change] of input.changes.entries()) {
    branches = branches.flatMap(({ state: before, failed, isMissing }) =>
      judge(before, input, change).map(({ state: seen, document, holds }) => ({
        state: seen,
        failed: holds ? failed : [...failed, index],
        isMissing: isMissing || (holds && change.kind === "patch" && document === undefined),
      })),
    );
  }
  return branches.flatMap((branch) => conclude(branch, input, output));
}

function conclude(
  { state, failed, isMissing }: Branch,
  input: Asked<"write">,
  output: Output | undefined,
): readonly State[] {
  const succeeds = failed.length === 0 && !isMissing;
  if (output === undefined) return succeeds ? [apply(state, input, undefined)] : [];
  if (output.kind === "missing") return failed.length === 0 && isMissing ? [state] : [];
  if (output.kind === "refused") {
    const told = output.failures.map(({ change }) => change);
    if (told.length === 0 || told.join() !== failed.join()) return [];
    const ids = failed.map((index) => input.changes[index]?.id ?? "");
    return read(
      state,
      input,
      ids,
      output.failures.map(({ current }) => current),
    );
  }
  if (output.kind !== "written" || !succeeds) return [];
  // A write that changes nothing answers the store's current revision.
  const changes = input.changes.some(
    ({ id, kind }) => kind === "put" || kind === "patch" || (kind === "delete" && state.documents[id] !== undefined),
  );
  if (changes ? output.revision <= state.revision : output.revision < state.revision) return [];
  const after = apply(state, input, output);
  return input.changes.every((change, index) => isTrue(state, after, change, output.results[index])) ? [after] : [];
}

/** Whether the answer tells of a change what it did. */
function isTrue(
  before: State,
  after: State,
  { id, kind }: ModelChange,
  result: Answer<"written">["results"][number] | undefined,
): boolean {
  if (result === undefined) return false;
  if (kind === "delete" || kind === "check") return result.deadline === null && !result.created;
  const deadline = after.documents[id]?.deadline;
  const fits =
    typeof deadline === "object" && deadline !== null
      ? result.deadline !== null && result.deadline >= deadline.from
      : deadline === result.deadline;
  return fits && result.created === (before.documents[id] === undefined);
}

/** The store's now, which a new deadline tells to the millisecond; before all time: two of them disagree. */
function nowOf(input: Input, output: Output | undefined): number | undefined {
  if (input.kind !== "write" || output?.kind !== "written") return undefined;
  const told = new Set<number>();
  for (const [index, change] of input.changes.entries()) {
    const deadline = output.results[index]?.deadline ?? null;
    const ttl = change.kind === "put" || change.kind === "patch" ? change.ttl : undefined;
    if (typeof ttl === "number" && deadline !== null) told.add(deadline - ttl);
  }
  const [now] = told;
  return told.size > 1 ? Number.NEGATIVE_INFINITY : now;
}

function apply(state: State, input: Asked<"write">, output: Answer<"written"> | undefined): State {
  const documents: { [id: string]: ModelDocument } = { ...state.documents };
  for (const change of input.changes) {
    const { id, kind } = change;
    if (kind === "check") continue;
    if (kind === "delete") {
      delete documents[id];
      continue;
    }
    const before = state.documents[id];
    const fields = kind === "put" ? change.fields : merged(before?.fields ?? {}, change.merge ?? {});
    let deadline = kind === "put" || before === undefined ? null : before.deadline;
    if (change.ttl === null) deadline = null;
    else if (change.ttl !== undefined) {
      const end = input.earliest + change.ttl;
      // Of a write whose answer was lost it is only known when it was written at the earliest.
      deadline = output === undefined ? { from: end } : end;
    }
    documents[id] = { fields, revision: output?.revision, after: state.revision, deadline };
  }
  return { documents, revision: Math.max(state.revision, output?.revision ?? 0) };
}

function merged(fields: ModelFields, merge: { readonly [name: string]: number | null }): ModelFields {
  const kept: { [name: string]: number } = {};
  for (const [name, value] of Object.entries({ ...fields, ...merge })) {
    if (value !== null) kept[name] = value;
  }
  return kept;
}

interface Found {
  readonly state: State;
  readonly document: ModelDocument | undefined;
}

/** A document as it may be at the operation's instant: there, or gone since its deadline. */
function lookAt(state: State, { earliest, latest }: Input, id: string): readonly Found[] {
  const document = state.documents[id];
  if (document === undefined || document.deadline === null) return [{ state, document }];
  const { [id]: _, ...others } = state.documents;
  const { deadline } = document;
  const isKnown = typeof deadline === "number";
  const end = isKnown ? deadline : deadline.from;
  return [
    ...(earliest < end || !isKnown ? [{ state, document }] : []),
    ...(latest >= end ? [{ state: { ...state, documents: others }, document: undefined }] : []),
  ];
}

function judge(
  state: State,
  input: Input,
  { id, condition }: ModelChange,
): readonly (Found & { readonly holds: boolean })[] {
  return lookAt(state, input, id).flatMap((found) => {
    const { state: seen, document } = found;
    if (condition === undefined) return [{ ...found, holds: true }];
    if (document === undefined) return [{ ...found, holds: isOnlyAbsence(condition) }];
    const { exists, revision, fields = {} } = condition;
    const fits = exists !== false && Object.entries(fields).every(([name, value]) => document.fields[name] === value);
    if (!fits || revision === undefined) return [{ ...found, holds: fits }];
    if (document.revision !== undefined) return [{ ...found, holds: document.revision === revision }];
    return [
      ...reveal(seen, id, document, revision).map((told) => ({ ...found, state: told, holds: true })),
      { ...found, holds: false },
    ];
  });
}

function isOnlyAbsence({ exists, revision, fields }: ModelCondition): boolean {
  return exists === false && revision === undefined && fields === undefined;
}

/** The state when a document was seen so; none when it cannot have been. */
function match(state: State, id: string, document: ModelDocument, seen: Seen): readonly State[] {
  if (JSON.stringify(sorted(document.fields)) !== JSON.stringify(sorted(seen.fields))) return [];
  const { deadline } = document;
  const fits =
    typeof deadline === "object" && deadline !== null
      ? seen.deadline !== null && seen.deadline >= deadline.from
      : deadline === seen.deadline;
  return fits ? reveal(state, id, { ...document, deadline: seen.deadline }, seen.revision) : [];
}

/** A document whose revision somebody has told; none when it cannot be that one. */
function reveal(state: State, id: string, document: ModelDocument, revision: number): readonly State[] {
  const isPossible = document.revision === undefined ? revision > document.after : revision === document.revision;
  if (!isPossible) return [];
  const documents = { ...state.documents, [id]: { ...document, revision } };
  return [{ documents, revision: Math.max(state.revision, revision) }];
}

/** Parts of a history that have no document in common, each to be judged by itself: linearizability is local to them. */
export function partsOf(history: readonly HistoryOperation[]): readonly (readonly HistoryOperation[])[] {
  const written = history.flatMap(({ input }) => (input.kind === "list" ? [] : idsOf(input)));
  const groups: { readonly ids: Set<string>; readonly operations: HistoryOperation[] }[] = [];
  for (const operation of history) {
    const { input } = operation;
    const ids = new Set(input.kind === "list" ? written.filter((id) => id.startsWith(input.prefix)) : idsOf(input));
    const joined = groups.filter((group) => [...ids].some((id) => group.ids.has(id)));
    for (const group of joined) groups.splice(groups.indexOf(group), 1);
    groups.push({
      ids: new Set([...ids, ...joined.flatMap((group) => [...group.ids])]),
      operations: [...joined.flatMap((group) => group.operations), operation],
    });
  }
  return groups.map(({ operations }) => operations);
}

function idsOf(input: Asked<"read"> | Asked<"write">): readonly string[] {
  return input.kind === "read" ? input.ids : input.changes.map(({ id }) => id);
}
