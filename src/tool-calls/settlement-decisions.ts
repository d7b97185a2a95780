import type { WriteEvent } from "./acquisition-decisions.js";
import type { ResultOmission, ToolCallRecord } from "./record.js";
import type { RecordPut } from "./transition-types.js";

/*
 * The way of an outcome into the record. The write that carries it is conditional on the claim, so that repeating it is
 * always safe: once it has arrived, a second copy is refused, and the record shows that it is our own.
 */

/** What the answer to the write of an outcome means. */
export type SettlementStep =
  /** The outcome stands in the record. */
  | { readonly step: "settled" }
  /** Somebody else's claim or decision stands there; undefined: nothing does. */
  | { readonly step: "lost"; readonly current: ToolCallRecord | undefined }
  /** The store does not take it in this form: try the smaller one. */
  | { readonly step: "shrink"; readonly write: RecordPut }
  /** Not known: repeat it. */
  | { readonly step: "again" }
  /** The store takes it in no form. */
  | { readonly step: "refused"; readonly error: unknown };

export function stepSettlement(write: RecordPut, event: WriteEvent): SettlementStep {
  switch (event.event) {
    case "written":
      return { step: "settled" };
    case "refused": {
      const current = event.current?.record;
      return current !== undefined && isOwnOutcome(write, current) ? { step: "settled" } : { step: "lost", current };
    }
    case "unanswered": {
      if (event.fault === "record") return { step: "lost", current: undefined };
      // A token that was withdrawn may come back, as a store does.
      if (event.fault === "store" || event.fault === "access") return { step: "again" };
      const smaller = shrink(write, event.fault === "size" ? "too_large" : "not_json");
      return smaller === undefined ? { step: "refused", error: event.error } : { step: "shrink", write: smaller };
    }
  }
}

/** A settled record keeps the claim id of the claim that settled it, and every claim settles once. */
function isOwnOutcome(write: RecordPut, current: ToolCallRecord): boolean {
  return current.claim_id === write.set.claim_id && current.status === write.set.status;
}

/** The same outcome in less room: first without its result, then without all that only explains it. */
function shrink(write: RecordPut, reason: ResultOmission): RecordPut | undefined {
  const { result, ...withoutResult } = write.set;
  if (result !== undefined) return { ...write, set: { ...withoutResult, result_omitted: reason } };
  const { extra, ...bare } = withoutResult;
  if (extra === undefined && bare.intent === null) return undefined;
  return { ...write, set: { ...bare, intent: null } };
}
