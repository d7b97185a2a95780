import type { Condition, Fields, JsonValue } from "../documents/contract.js";
import type { ClaimTerms, ResultOmission, StoredError, ToolCallRecord } from "./record.js";

/** How long things last, in seconds. */
export interface CallTiming {
  /** The hold of a claim: it lapses so long after it was last written. */
  readonly pendingTtl: number;
  /** The window: how long a settled call is remembered. */
  readonly completedTtl: number;
  /** How long a failure is answered with the same failure. */
  readonly failedTtl: number;
}

/** Who claims. */
export interface Claimant {
  /** Fresh for every claim: only the retries of the same write share it. */
  readonly claimId: string;
  readonly owner: string;
  /** ISO 8601, by the claimant's clock, for people. */
  readonly at: string;
  /** What the record must say because the holder will have nothing but its claim id. */
  readonly terms?: ClaimTerms;
}

/** A claim that was sent, whatever became of it. */
export interface SentClaim {
  readonly claimId: string;
  /** The record as the claim writes it, and as the holder's own mark changes it. */
  readonly record: ToolCallRecord;
  readonly timing: CallTiming;
}

/** A claim that was made: what its holder needs for every further write. */
export interface HeldClaim extends SentClaim {
  /** The revision of the claim: it only grows from claim to claim, also when the record was forgotten in between. */
  readonly fencingToken: number;
}

/** What a tool returned, as it is stored. */
export type StoredResult =
  | { readonly kind: "json"; readonly value: JsonValue }
  | { readonly kind: "undefined" }
  /** In a document of its own, which has been written. */
  | { readonly kind: "content"; readonly id: string; readonly value: JsonValue }
  /** Known done, but the result could not be kept. */
  | { readonly kind: "omitted"; readonly reason: ResultOmission };

/** What somebody found out about an earlier run. */
export type Verdict =
  | { readonly kind: "done"; readonly result: StoredResult }
  | { readonly kind: "failed"; readonly error: StoredError }
  /** Not done, and it can no longer happen. */
  | { readonly kind: "not_done" }
  | { readonly kind: "unknown"; readonly error: StoredError | null };

/** Who resolved a doubtful call, for the record's history. */
export interface Resolution {
  readonly by: string;
  readonly note: string;
  /** ISO 8601. */
  readonly at: string;
  /** Whether it lets a parked call go on. */
  readonly approved?: true;
}

/** The transitions of the protocol, by name. */
export type TransitionName =
  | "plan"
  | "claim"
  | "claim_again"
  | "look_up"
  | "renew"
  | "fired"
  | "complete"
  | "fail"
  | "release"
  | "unknown"
  | "park"
  | "abandon"
  | "resolve"
  | "forget";

/** One conditional write. A `ttl` of null is for ever; a patch without one keeps the deadline. */
export type RecordWrite =
  | {
      readonly op: "put";
      readonly transition: TransitionName;
      readonly set: ToolCallRecord;
      readonly ttl: number | null;
      readonly if_match: Condition;
    }
  | {
      readonly op: "patch";
      readonly transition: TransitionName;
      readonly merge: Fields;
      readonly ttl?: number | null;
      readonly if_match: Condition;
    }
  | { readonly op: "delete"; readonly transition: TransitionName; readonly if_match: Condition };

export type RecordPut = Extract<RecordWrite, { op: "put" }>;
