import { OnceKvError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import type { JsonValue } from "../documents/contract.js";
import { checkFields } from "../documents/json-value.js";
import type { ResultOmission, ToolCallRecord } from "./record.js";
import type { StoredResult } from "./transition-types.js";

/** What a call came to. The first caller and every later one get the same result: the stored one. */
export interface ToolCallOutcome<T> {
  /** Undefined when `result_omitted` is set, except for the caller whose tool returned it. */
  readonly result: T;
  /** Whether an earlier call had this result and the tool was not entered now. */
  readonly was_replay: boolean;
  /** When the call that had the result claimed it: ISO 8601, UTC, by that caller's clock. */
  readonly original_called_at: string;
  /** The whole key, which names the record: for `get`, `wait`, `forget`, and as a key for whatever the tool calls. */
  readonly key: string;
  /** How often the call was claimed within its window. */
  readonly attempt: number;
  /** The revision of the claim that had the result: it grows from claim to claim. */
  readonly fencing_token: number;
  /** False: not known to be stored. Storing it goes on in the background; until it is, another caller may fire. */
  readonly persisted: boolean;
  /** The tool is known to have run, but its result is not there: it could not be kept, or was lost. */
  readonly result_omitted?: ResultOmission;
}

/** A result as its record will hold it. What is not JSON is left out; that the tool is done is kept in any case. */
export function encodeResult(result: unknown, limits: Limits): StoredResult {
  if (result === undefined) return { kind: "undefined" };
  try {
    // Judged as the member of the record that it will be: nesting counts from there.
    const { result: value } = checkFields({ result }, "", limits);
    return value === undefined ? { kind: "undefined" } : { kind: "json", value };
  } catch (error) {
    const tooLarge = error instanceof OnceKvError && error.code === "too_large";
    return { kind: "omitted", reason: tooLarge ? "too_large" : "not_json" };
  }
}

/** How a result came to whoever is told of it. */
interface Told {
  readonly was_replay: boolean;
  readonly persisted: boolean;
  /** What the tool returned, for the one caller who has it; used when the record could not keep it. */
  readonly live?: unknown;
  /** What lies beside the record; undefined: it is gone. */
  readonly beside?: { readonly value: JsonValue } | undefined;
}

/** The outcome that a settled record stands for. */
export function outcomeOf(record: ToolCallRecord, told: Told): ToolCallOutcome<unknown> {
  const { result_ref: ref, result, result_omitted } = record;
  const stored = ref === undefined ? { value: result } : told.beside;
  const omitted = stored === undefined ? "gone" : result_omitted;
  return {
    // A copy of its own: what its owner does with it must not reach a record that is still to be written.
    result: omitted === undefined ? structuredClone(stored?.value) : told.live,
    was_replay: told.was_replay,
    original_called_at: calledAt(record),
    key: record.key,
    attempt: record.attempt,
    fencing_token: record.fencing_token ?? 0,
    persisted: told.persisted,
    ...(omitted === undefined ? {} : { result_omitted: omitted }),
  };
}

/** When a call was made and settled. */
export type CallTimes = Pick<ToolCallRecord, "started_at" | "completed_at">;

/** When the call that settled a record was made. */
export function calledAt(record: CallTimes): string {
  return record.started_at ?? record.completed_at ?? "";
}
