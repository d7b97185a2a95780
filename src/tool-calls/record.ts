import { OnceKvError } from "../base/errors.js";
import type { Document, Fields, JsonValue } from "../documents/contract.js";

/*
 * The record of a tool call: what the store holds under the call's key. It outlives the lease of whoever works on it, so
 * that identity, attempt and the binding to the arguments are kept through the whole window.
 */

/** The layout of records. A record with a higher number was written by a newer version and is not touched. */
export const recordFormat = 1;

/**
 * - `planned`: written down, nobody has begun.
 * - `pending`: claimed; somebody works on it, or did until the claim lapsed.
 * - `released`: certainly not done, or its policy lets the next caller fire; the next caller claims.
 * - `completed`: done, with its result.
 * - `failed`: definitely not done, with its error; claimable again when `hold` is over.
 * - `unknown`: whether it took effect must be found out.
 * - `parked`: set aside before its effect; the next `run` resumes.
 */
export type ToolCallStatus = (typeof statuses)[number];
export const statuses = ["planned", "pending", "released", "completed", "failed", "unknown", "parked"] as const;

/** What happens when a claim lapses or an outcome is unknown: the record's own policy counts, not the finder's. */
export type ToolCallPolicy = (typeof policies)[number];
export const policies = ["refire", "review", "reconcile"] as const;

/** What a pending claim is for: to run the tool, or to find out what an earlier run did. */
type ToolCallPhase = (typeof phases)[number];
const phases = ["run", "reconcile"] as const;

/** Why there is no result: none was kept, or, `gone`, the document beside the record that kept it is not there any more. */
export type ResultOmission = (typeof omissions)[number];
export const omissions = ["too_large", "not_json", "redaction_failed", "gone"] as const;

/** One decision of an operator, or of a program in that role. */
export type HistoryEntry = {
  readonly by: string;
  readonly note: string;
  /** ISO 8601, UTC, by that program's clock. */
  readonly at: string;
  readonly verdict: "done" | "failed" | "not_done";
  /** What the record was when it was decided. */
  readonly status: ToolCallStatus;
  /** The arguments that were decided about. */
  readonly fingerprint: string;
  /** It lets a parked call go on, by `approve`. */
  readonly approved?: true;
};

/** What a tool threw, as JSON; `reviveError` makes an error of it again. */
export type StoredError = { [name: string]: JsonValue };

/** What a call is, frozen by its first write. */
export type ToolCallIdentity = {
  tool: string;
  /** The whole key: the document's id. */
  key: string;
  /** sha256 of the canonical arguments, in hex. */
  fingerprint: string;
  /** The arguments, or what `redact` left of them; null when they had to go to make room. */
  intent: JsonValue;
  policy: ToolCallPolicy;
  /** Whether the tool marks the moment before its effect. Without it the claim itself counts as the mark. */
  marks: boolean;
};

/** The fields of the document. All but the last ones are always there: a condition on null needs a null. */
export type ToolCallRecord = ToolCallIdentity & {
  format: number;
  status: ToolCallStatus;
  /** Names the claim that wrote this record last; null when no claim did. */
  claim_id: string | null;
  /** null when nothing is pending. */
  phase: ToolCallPhase | null;
  /** Who claimed, in the claimant's own words. */
  owner: string | null;
  /** How often the call was claimed within its window. */
  attempt: number;
  /** Seconds after `updated_at` at which a claim lapses, or a failure may be tried again; null: never. */
  hold: number | null;
  /**
   * Seconds for which whoever claimed it last wants its end to be remembered: who settles it in that caller's place must
   * not have it forgotten sooner. Absent before the first claim.
   */
  window?: number;
  /** The revision of the claim that settled the record; null before, but for a claim with `terms` once it was renewed. */
  fencing_token: number | null;
  /** When the claim was made, by the claimant's clock. Times in records are for people; nothing is decided by them. */
  started_at: string | null;
  renewed_at: string | null;
  /** The mark before the effect. */
  fired_at: string | null;
  completed_at: string | null;
  /** What operators did, oldest first: `HistoryEntry`s. */
  history: JsonValue[];
  /** Of a completed record. Absent without `result_ref` and `result_omitted`: the tool returned undefined. */
  result?: JsonValue;
  /** The id of the document that holds the result, in the shape for results. */
  result_ref?: string;
  result_omitted?: ResultOmission;
  /** Of a failed or unknown record. */
  error?: StoredError;
  /** What the attempt before ended with, of a released or pending record. */
  last_error?: StoredError;
  /** Of a parked record. */
  reason?: JsonValue;
  /** What the caller added. */
  extra?: Fields;
  /** Of a pending record whose holder has nothing but its claim id; absent where the holder knows its own times. */
  terms?: ClaimTerms;
};

/** How long the outcome of a claim will be kept, and a failure answered with the same failure; in seconds. */
export type ClaimTerms = { completed_ttl: number; failed_ttl: number };

/** A record as it was read, with the two instants that decide whether its hold is over. Both are the store's. */
export interface SeenRecord {
  readonly record: ToolCallRecord;
  readonly revision: number;
  /** Milliseconds since 1970, by the store's clock. */
  readonly updatedAt: number;
  /** The store's now when the answer was made, milliseconds since 1970. */
  readonly asOf: number;
}

/** @throws OnceKvError `record_malformed` */
export function seenRecord(document: Document): SeenRecord {
  return {
    record: parseRecord(document.fields, document.id),
    revision: document.revision,
    updatedAt: Date.parse(document.updated_at),
    asOf: Date.parse(document.as_of),
  };
}

/** The same; undefined for what is no record of a tool call. */
export function seenRecordOf(document: Document): SeenRecord | undefined {
  try {
    return seenRecord(document);
  } catch (error) {
    if (error instanceof OnceKvError) return undefined;
    throw error;
  }
}

/**
 * Judges the fields of a stored document. Members that this version does not know are let through, and are gone after the
 * next transition.
 *
 * @param id the document's id, for the message
 * @throws OnceKvError `record_malformed`: something else wrote this document, or a newer version did. The call is not
 * fired; delete the document if it is not needed
 */
function parseRecord(fields: Fields, id: string): ToolCallRecord {
  const { format } = fields;
  if (typeof format === "number" && format > recordFormat) {
    malformed(id, `its format ${format} is newer than ${recordFormat}, the newest that this version knows`);
  }
  for (const [name, accepts] of Object.entries(checks)) {
    const value = fields[name];
    if (!accepts(value)) malformed(id, `its ${JSON.stringify(name)} is ${shown(value)}`);
  }
  const record = fields as ToolCallRecord;
  if (record.key !== id) malformed(id, `its "key" names another record`);
  if (record.status === "pending" && (record.claim_id === null || record.phase === null || record.hold === null)) {
    malformed(id, "it is pending without a claim_id, a phase or a hold");
  }
  if (record.status === "failed" && record.error === undefined) malformed(id, "it has failed without an error");
  return record;
}

type Check = (value: JsonValue | undefined) => boolean;

const isText: Check = (value) => typeof value === "string";
const isTextOrNull: Check = (value) => value === null || typeof value === "string";
const isInteger: Check = (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
const isObject: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isOneOf =
  (names: readonly string[]): Check =>
  (value) =>
    typeof value === "string" && names.includes(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const orAbsent =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const isSeconds: Check = (value) => typeof value === "number" && value > 0;
const isTerms: Check = (value) =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  isSeconds(value["completed_ttl"]) &&
  isSeconds(value["failed_ttl"]);

const checks: { readonly [name: string]: Check } = {
  format: isInteger,
  tool: isText,
  key: isText,
  fingerprint: isText,
  intent: (value) => value !== undefined,
  policy: isOneOf(policies),
  marks: (value) => typeof value === "boolean",
  status: isOneOf(statuses),
  claim_id: isTextOrNull,
  phase: orNull(isOneOf(phases)),
  owner: isTextOrNull,
  attempt: isInteger,
  hold: orNull(isSeconds),
  window: orAbsent(isSeconds),
  fencing_token: orNull(isInteger),
  started_at: isTextOrNull,
  renewed_at: isTextOrNull,
  fired_at: isTextOrNull,
  completed_at: isTextOrNull,
  history: (value) => Array.isArray(value),
  result_ref: orAbsent(isText),
  result_omitted: orAbsent(isOneOf(omissions)),
  error: orAbsent(isObject),
  last_error: orAbsent(isObject),
  extra: orAbsent(isObject),
  terms: orAbsent(isTerms),
};

function shown(value: JsonValue | undefined): string {
  if (value === undefined) return "missing";
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 60)}...`;
}

function malformed(id: string, problem: string): never {
  throw new OnceKvError("record_malformed", `${JSON.stringify(id)} is not the record of a tool call: ${problem}`);
}
