import { InvalidRequestError, OnceKvError, TooLargeError } from "../../../src/base/errors.js";
import type { Limits } from "../../../src/base/limits.js";
import type { Document, Fields, JsonValue } from "../../../src/documents/contract.js";
import type { PowertoolsRecord, PowertoolsRecordOptions, PowertoolsStatus } from "./classes.js";

/*
 * A record of Powertools as a document:
 *
 *     { status, in_progress_ms?, data?, data_omitted?, validation? }
 *
 * Powertools writes instants, by the clock of whoever makes the record, and compares them with the clock of whoever reads
 * it. Here they become durations when they are written, and instants of the reader's clock when they are read: in between
 * one clock counts, the store's. The end of a record is the end of its document. `data` is the text of the JSON.
 */

/** The part of a write that says what the document becomes. */
export interface RecordWrite {
  readonly set: Fields;
  /** Seconds; null: no end. */
  readonly ttl: number | null;
}

const omissions = {
  too_large: "is larger than the store holds",
  not_json: "is not JSON",
} as const;

type Omission = keyof typeof omissions;

/**
 * @param now `Date.now()`, which Powertools has made the record's instants with
 * @param validated whether the record's hash of the payload is kept
 */
export function claimWrite(record: PowertoolsRecord, now: number, validated: boolean, limits: Limits): RecordWrite {
  const { inProgressExpiryTimestamp: end } = record;
  return {
    set: {
      status: record.getStatus(),
      ...(end === undefined ? {} : { in_progress_ms: Math.max(0, end - now) }),
      ...validationOf(record, validated),
    },
    ttl: ttlOf(record, now, limits),
  };
}

/** As `claimWrite`. A result that `JSON.stringify` cannot express is left out, and marked as left out. */
export function resultWrite(record: PowertoolsRecord, now: number, validated: boolean, limits: Limits): RecordWrite {
  return {
    set: { status: record.getStatus(), ...dataOf(record.responseData), ...validationOf(record, validated) },
    ttl: ttlOf(record, now, limits),
  };
}

/** The same write without the result, for when the store does not take it. */
export function withoutResult({ set, ttl }: RecordWrite): RecordWrite {
  const { data: _data, ...others } = set;
  return { set: { ...others, data_omitted: "too_large" satisfies Omission }, ttl };
}

/** Whether a claim is there whose worker had to end by itself before now. The store's clock decides. */
export function hasLapsed({ fields, updated_at, as_of }: Document): boolean {
  const { status, in_progress_ms } = fields;
  if (status !== "INPROGRESS" || typeof in_progress_ms !== "number") return false;
  return Date.parse(updated_at) + in_progress_ms < Date.parse(as_of);
}

export function isCompleted({ fields }: Document): boolean {
  return fields["status"] === "COMPLETED";
}

/**
 * What Powertools makes its record of.
 *
 * @param now `Date.now()`, which Powertools will compare the record's instants with
 * @throws TooLargeError, InvalidRequestError when the call was carried out and its result could not be kept; `record_malformed`
 */
export function recordOptions(document: Document, now: number): PowertoolsRecordOptions {
  const { id, fields, expires_at, updated_at } = document;
  const { in_progress_ms, data, data_omitted, validation } = fields;
  // What the reader's clock shows when the store's shows `instant`.
  const local = (instant: number): number => now + instant - Date.parse(document.as_of);
  refuseOmitted(data_omitted, document);
  return {
    idempotencyKey: id,
    status: statusOf(document),
    ...(expires_at === null ? {} : { expiryTimestamp: Math.ceil(local(Date.parse(expires_at)) / 1000) }),
    ...(typeof in_progress_ms === "number"
      ? { inProgressExpiryTimestamp: local(Date.parse(updated_at) + in_progress_ms) }
      : {}),
    ...(typeof data === "string" ? { responseData: parsed(data, id) } : {}),
    ...(typeof validation === "string" ? { payloadHash: validation } : {}),
  };
}

function ttlOf({ expiryTimestamp }: PowertoolsRecord, now: number, limits: Limits): number | null {
  if (expiryTimestamp === undefined) return null;
  const seconds = expiryTimestamp - now / 1000;
  return seconds > limits.ttlSecondsMax ? null : Math.max(limits.ttlSecondsMin, seconds);
}

/** JSON is what Lambda makes of a handler's answer as well, so that a replay is what the first caller was sent. */
function dataOf(result: unknown): Fields {
  try {
    const data: unknown = JSON.stringify(result);
    return typeof data === "string" ? { data } : {};
  } catch {
    return { data_omitted: "not_json" satisfies Omission };
  }
}

function validationOf({ payloadHash }: PowertoolsRecord, validated: boolean): Fields {
  return validated && payloadHash !== undefined ? { validation: payloadHash } : {};
}

function refuseOmitted(omission: JsonValue | undefined, { id, updated_at }: Document): void {
  if (omission !== "too_large" && omission !== "not_json") return;
  const problem = `${JSON.stringify(id)} was carried out at ${updated_at}; its result ${omissions[omission]} and was not kept`;
  throw omission === "too_large" ? new TooLargeError("", problem) : new InvalidRequestError("", problem);
}

function statusOf({ id, fields }: Document): PowertoolsStatus {
  const { status } = fields;
  if (status === "INPROGRESS" || status === "COMPLETED" || status === "EXPIRED") return status;
  throw malformed(id);
}

function parsed(data: string, id: string): JsonValue {
  try {
    return JSON.parse(data) as JsonValue;
  } catch (error) {
    throw malformed(id, error);
  }
}

function malformed(id: string, cause?: unknown): OnceKvError {
  return new OnceKvError("record_malformed", `${JSON.stringify(id)} is not a record of Powertools`, { cause });
}
