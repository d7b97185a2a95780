import type { ToolCallRecord } from "../../src/tool-calls/record.js";
import type { TransitionName } from "../../src/tool-calls/transition-types.js";
import type { Exploration } from "./explorer.js";
import type { ModelWrite } from "./explorer-store.js";
import type { Mutant } from "./explorer-world.js";

/* How rules are taken away. */

export interface MutantCase extends Omit<Exploration, "mutant"> {
  /** What is done instead of the rule. */
  readonly name: string;
  readonly mutant: Mutant;
  /** What happens then; the first that the explorer finds. */
  readonly finds: RegExp;
}

/** Changes the writes of these transitions. */
export function onWrite(transitions: readonly TransitionName[], change: (write: ModelWrite) => ModelWrite): Mutant {
  return { write: (write) => (transitions.includes(write.transition) ? change(write) : write) };
}

/** Changes what these transitions write. */
export function onPut(
  transitions: readonly TransitionName[],
  change: (set: ToolCallRecord) => Partial<ToolCallRecord>,
): Mutant {
  return onWrite(transitions, (write) =>
    write.op === "put" ? { ...write, set: { ...write.set, ...change(write.set) } } : write,
  );
}

/** Conditions on the claim id alone. */
export function withoutStatus(write: ModelWrite): ModelWrite {
  const claimId = write.if_match.fields?.["claim_id"];
  return claimId === undefined ? write : { ...write, if_match: { fields: { claim_id: claimId } } };
}
