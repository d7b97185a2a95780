import type { Operation } from "./checker.js";
import { type LoggedState, textOf } from "./commit-log.js";
import { documentModel, type State } from "./document-model.js";
import type { HistoryOperation, Input, Output } from "./history-types.js";
import { shownBy } from "./store-requests.js";
import { Violation } from "./violation.js";

/** An operation whose outcome is known, and which place among the states it must have, if it says so itself. */
export interface Settled {
  readonly operation: Operation<Input, Output> & { readonly output: Output; readonly returned: bigint };
  /** The state that a write made, or at which one that changed nothing was judged; undefined: to be found. */
  readonly place: number | undefined;
  readonly madeCommit: boolean;
}

/** The history with all outcomes known, since watchers have received what was applied. */
export interface SettledHistory {
  readonly operations: readonly Settled[];
  /** Writes without an answer that were applied, and that were not. */
  readonly applied: number;
  readonly lost: number;
}

/**
 * Finds for each commit the write that made it, and for each write what it made: those that were answered by the revision that
 * they were told, the others by what they would have done.
 *
 * @param end an instant of the store's clock that no write of the history is behind
 * @throws Violation when a commit was made by nobody, or a write did not make what it must have
 */
export function settle(
  history: readonly HistoryOperation[],
  states: readonly LoggedState[],
  end: number,
): SettledHistory {
  const makers = new Set<number>();
  const operations: Settled[] = [];
  const unknown: HistoryOperation[] = [];
  for (const operation of byCall(history)) {
    const { output, returned } = operation;
    if (output === undefined || returned === undefined) unknown.push(operation);
    else {
      const found =
        output.kind === "written" ? placeOf(operation, output, states, makers) : { place: undefined, made: false };
      if (found.made && found.place !== undefined) makers.add(found.place);
      operations.push({ operation: { ...operation, output, returned }, place: found.place, madeCommit: found.made });
    }
  }
  const others = states.flatMap(({ commit }, place) => {
    return commit === undefined || makers.has(place) || isSweep(commit) ? [] : [place];
  });
  const assigned = assign(others, unknown, states, end);
  if (assigned === undefined) {
    const texts = others.map((place) => textOf(states[place]?.commit)).join(", ");
    throw new Violation("commits", `nobody has made all of ${texts}`);
  }
  return {
    operations: [...operations, ...assigned],
    applied: assigned.length,
    lost: unknown.length - assigned.length,
  };
}

/**
 * Of two deletes that could have made a commit, and were both told its revision, the other one found nothing. Which is which
 * nobody can tell from outside; that it was the one that began first is always possible.
 */
function byCall(history: readonly HistoryOperation[]): readonly HistoryOperation[] {
  return history.toSorted((one, other) => (one.called < other.called ? -1 : one.called > other.called ? 1 : 0));
}

type Changes = NonNullable<LoggedState["commit"]>["changes"];

function isSweep({ changes }: { readonly changes: Changes }): boolean {
  return changes.every(({ type }) => type === "expire");
}

function placeOf(
  operation: HistoryOperation,
  output: Output & { readonly kind: "written" },
  states: readonly LoggedState[],
  makers: ReadonlySet<number>,
): { readonly place: number; readonly made: boolean } {
  const place = states.findIndex(({ state }) => state.revision === output.revision);
  const [before, after] = [states[place - 1], states[place]];
  const couldMake =
    after?.commit !== undefined && before !== undefined && made(operation.input, output, before.state, after.commit);
  if (couldMake && !makers.has(place)) return { place, made: true };
  const changesNothing =
    after !== undefined &&
    documentModel
      .step(after.state, operation.input, output)
      .some(({ documents, revision }) => revision === after.state.revision && isPartOf(documents, after.state));
  if (!changesNothing || !isIdle(operation.input)) {
    if (couldMake) throw new Violation("commits", `two writes have made ${place}`);
    const what = JSON.stringify([operation.input, output]);
    throw new Violation("commits", `${what} has not made ${textOf(after?.commit)} of ${JSON.stringify(before?.state)}`);
  }
  return { place, made: false };
}

/** Whether a request can change nothing. */
function isIdle(input: Input): boolean {
  return input.kind === "write" && input.changes.every(({ kind }) => kind === "delete" || kind === "check");
}

function isPartOf(documents: State["documents"], state: State): boolean {
  return Object.entries(documents).every(([id, document]) => state.documents[id] === document);
}

/** Whether a write makes this commit of this state: all of it, and nothing else. */
function made(
  input: Input,
  output: Output,
  before: State,
  commit: { readonly revision: number; readonly changes: Changes },
): boolean {
  if (input.kind !== "write" || isSweep(commit)) return false;
  const now = nowOf(commit.changes);
  const told = now === undefined ? output : { ...output, now };
  const asked = new Map(input.changes.map((change) => [change.id, change]));
  return documentModel.step(before, input, told).some((after) => {
    const isAsked = commit.changes.every(({ type, id, document }) => {
      const kind = asked.get(id)?.kind;
      if (type === "expire") return kind === "put";
      if (type === "delete") return kind === "delete";
      const expected = after.documents[id];
      if (document === null || expected === undefined || (kind !== "put" && kind !== "patch")) return false;
      const { fields, deadline, revision } = shownBy(document);
      return sameFields(fields, expected.fields) && deadline === expected.deadline && revision === expected.revision;
    });
    return (
      isAsked &&
      input.changes.every(({ id, kind }) => {
        const type = kind === "put" || kind === "patch" ? "put" : kind;
        const isThere = commit.changes.some((change) => change.id === id && change.type === type);
        if (type === "put") return isThere;
        const deadline = before.documents[id]?.deadline;
        const mayBeGone = deadline === undefined || (typeof deadline === "number" && deadline <= (now ?? input.latest));
        return kind === "check" || isThere || mayBeGone;
      })
    );
  });
}

function sameFields(one: object, other: object): boolean {
  return textOfFields(one) === textOfFields(other);
}

function textOfFields(fields: object): string {
  return JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The instant at which a commit was judged, which each document that it wrote tells. */
function nowOf(changes: Changes): number | undefined {
  const document = changes.find(({ document: each }) => each !== null)?.document;
  return document === undefined || document === null ? undefined : Date.parse(document.updated_at);
}

/** Gives each commit one of the writes without an answer; undefined: there is no way to. */
function assign(
  places: readonly number[],
  unknown: readonly HistoryOperation[],
  states: readonly LoggedState[],
  end: number,
): readonly Settled[] | undefined {
  const [place, ...others] = places;
  if (place === undefined) return [];
  const [before, after] = [states[place - 1], states[place]];
  if (before === undefined || after?.commit === undefined) return undefined;
  const { commit } = after;
  for (const operation of unknown) {
    const { input, called } = operation;
    if (input.kind !== "write" || called > commit.received) continue;
    const output = outputOf(input, before.state, commit);
    if (!made({ ...input, latest: end }, output, before.state, commit)) continue;
    const rest = assign(
      others,
      unknown.filter((other) => other !== operation),
      states,
      end,
    );
    if (rest === undefined) continue;
    const known = { input: { ...input, latest: end }, output, called, returned: commit.received };
    return [{ operation: known, place, madeCommit: true }, ...rest];
  }
  return undefined;
}

/** What a write would have been answered that made this commit. */
function outputOf(
  input: Input & { readonly kind: "write" },
  before: State,
  { revision, changes }: { readonly revision: number; readonly changes: Changes },
): Output {
  const results = input.changes.map(({ id }) => {
    const document = changes.find((change) => change.id === id && change.type === "put")?.document ?? null;
    if (document === null) return { deadline: null, created: false };
    const ended = changes.some((change) => change.id === id && change.type === "expire");
    return { deadline: shownBy(document).deadline, created: ended || before.documents[id] === undefined };
  });
  const now = nowOf(changes);
  return { kind: "written", revision, results, ...(now === undefined ? {} : { now }) };
}
