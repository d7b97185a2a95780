import type { LoggedState } from "./commit-log.js";
import type { Settled } from "./commits-of-writes.js";
import { documentModel } from "./document-model.js";
import { Violation } from "./violation.js";

/**
 * Gives each operation its place among the commits: a write the commit that it made, a page the one that it names, any other
 * read the earliest whose state it can have seen. No place is before one that somebody, in whichever process, had been told
 * when the operation began; so revisions agree with real time, a snapshot is one moment, and no reader goes back.
 *
 * @throws Violation
 */
export function checkRealTimeOrder(operations: readonly Settled[], states: readonly LoggedState[]): void {
  const told: { readonly at: bigint; readonly place: number }[] = states.flatMap(({ commit }, place) =>
    commit === undefined ? [] : [{ at: commit.received, place }],
  );
  const sorted = [...operations].sort((a, b) => (a.operation.called < b.operation.called ? -1 : 1));
  for (const settled of sorted) {
    const { called, returned } = settled.operation;
    const earliest = told.reduce((most, { at, place }) => (at < called && place > most ? place : most), 0);
    const place = placeOf(settled, states, earliest);
    const isBack = settled.madeCommit ? place <= earliest : place < earliest;
    if (isBack) {
      const what = JSON.stringify([settled.operation.input, settled.operation.output]);
      throw new Violation("order", `${what} is of ${place}, but ${earliest} had been told`);
    }
    told.push({ at: returned, place });
  }
}

function placeOf({ operation, place }: Settled, states: readonly LoggedState[], earliest: number): number {
  const { input, output } = operation;
  if (place !== undefined) return place;
  const fits = (index: number): boolean => {
    const logged = states[index];
    return logged !== undefined && documentModel.step(logged.state, input, output).length > 0;
  };
  if (output.kind === "page") {
    const named = states.findIndex(({ state }) => state.revision === output.revision);
    if (fits(named)) return named;
    const state = JSON.stringify(states[named]?.state);
    throw new Violation("order", `${JSON.stringify([input, output])} is not what was there: ${state}`);
  }
  for (let index = earliest; index < states.length; index++) {
    if (fits(index)) return index;
  }
  throw new Violation("order", `${JSON.stringify([input, output])} fits nothing from ${earliest} on`);
}
