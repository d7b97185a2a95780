import type { LookUp, ToolCallPolicy } from "../tool-calls/index.js";

/*
 * What a tool does to the world, and what makes its second fire harmless. The two together give the policy for a call whose
 * outcome is in doubt.
 */

/**
 * - `none`: calculates.
 * - `reads`: looks at the world, and leaves it as it is.
 * - `writes`: changes the world; what it did can be undone or done over.
 * - `irreversible`: cannot be undone: money, mail, what people have seen.
 */
export type ToolEffect = (typeof effects)[number];
export const effects = ["none", "reads", "writes", "irreversible"] as const;

/**
 * What keeps a call that fires twice from having two effects, in the order in which to ask for it:
 *
 * - `downstream_key`: the service takes an idempotency key, and the tool passes `call.key` or `call.headers` on;
 * - `content`: the effect is a conditional create under a name made of the content;
 * - `transaction`: the effect and a unique row with the key are written in one transaction;
 * - `store`: several steps over a store of one's own, with the record of this package as the only memory of them;
 * - `saga`: what was done can be found by a business reference, and compensated;
 * - `none`: nothing does. A call in doubt is closed until somebody says what became of it.
 */
export type ToolMechanism = (typeof mechanisms)[number];
export const mechanisms = ["downstream_key", "content", "transaction", "store", "saga", "none"] as const;

/** Mechanisms under which the other side itself drops a second fire: only under these is firing again safe after a doubt. */
const dropsSecondFire: ReadonlySet<ToolMechanism> = new Set(["downstream_key", "content", "transaction"]);

/** The first of the mechanisms that a tool offers, in the order above; `none` when it offers none. */
export function firstMechanism(offered: ToolMechanism | readonly ToolMechanism[] | undefined): ToolMechanism {
  const list: readonly ToolMechanism[] = typeof offered === "string" ? [offered] : (offered ?? []);
  return mechanisms.find((mechanism) => list.includes(mechanism)) ?? "none";
}

/** Whether firing again after a doubt has no second effect. */
export function isSafeToRefire(mechanism: ToolMechanism): boolean {
  return dropsSecondFire.has(mechanism);
}

/** What happens when a claim lapses or an outcome is unknown: what the tool says, else what its mechanism allows. */
export function policyFor(
  mechanism: ToolMechanism,
  given: { readonly policy?: ToolCallPolicy | undefined; readonly reconcile?: LookUp | undefined },
): ToolCallPolicy {
  if (given.policy !== undefined) return given.policy;
  if (given.reconcile !== undefined) return "reconcile";
  return isSafeToRefire(mechanism) ? "refire" : "review";
}

/** Whether a tool with that effect changes the world. */
export function changesTheWorld(effect: ToolEffect): boolean {
  return effect === "writes" || effect === "irreversible";
}
