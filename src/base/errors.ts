/** A stable name of a fault; `errorTable` says what each means. */
export type ErrorCode =
  | "invalid_request"
  | "revision_unknown"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "route_not_found"
  | "method_not_allowed"
  | "revision_compacted"
  | "precondition_failed"
  | "too_large"
  | "unsupported_media_type"
  | "write_id_conflict"
  | "rate_limited"
  | "overloaded"
  | "store_failed"
  | "store_closed"
  | "unavailable"
  | "outcome_unknown"
  | "internal"
  | "store_locked"
  | "store_unwritable"
  | "store_format"
  | "store_damaged"
  | "backup_invalid"
  | "idempotency_conflict"
  | "call_in_flight"
  | "call_parked"
  | "needs_review"
  | "claim_lost"
  | "nothing_to_resolve"
  | "tool_call_failed"
  | "record_malformed";

/** What is the same for all errors of one code. */
export interface ErrorFacts {
  /** The HTTP status that it travels under, also when no HTTP is involved. */
  readonly status: number;
  /** Whether the same call may succeed later without any change. */
  readonly retryable: boolean;
  readonly title: string;
}

/** Every error that callers can meet, by its code. A test compares this table with `docs/errors.md`. */
export const errorTable: { readonly [Code in ErrorCode]: ErrorFacts } = Object.freeze({
  // The caller's request cannot be carried out as it stands.
  invalid_request: { status: 400, retryable: false, title: "The request is not valid" },
  revision_unknown: { status: 400, retryable: false, title: "The revision lies beyond the newest one" },
  unauthorized: { status: 401, retryable: false, title: "A valid token is needed" },
  forbidden: { status: 403, retryable: false, title: "The token does not allow this" },
  not_found: { status: 404, retryable: false, title: "There is no such document" },
  route_not_found: { status: 404, retryable: false, title: "There is nothing at this address" },
  method_not_allowed: { status: 405, retryable: false, title: "The address does not take this method" },
  revision_compacted: { status: 410, retryable: false, title: "The history no longer reaches back that far" },
  precondition_failed: { status: 412, retryable: false, title: "The condition does not hold" },
  too_large: { status: 413, retryable: false, title: "The request is over a limit" },
  unsupported_media_type: { status: 415, retryable: false, title: "The body is not JSON" },
  write_id_conflict: { status: 422, retryable: false, title: "The write id was used for another request" },
  rate_limited: { status: 429, retryable: true, title: "There are too many requests of one sender" },
  // The store cannot do it now.
  overloaded: { status: 503, retryable: true, title: "More is under way than the store or the server holds" },
  store_failed: { status: 503, retryable: false, title: "The store could not write and must be reopened" },
  store_closed: { status: 503, retryable: true, title: "The store is closed" },
  unavailable: { status: 503, retryable: true, title: "The server cannot be reached" },
  outcome_unknown: { status: 503, retryable: false, title: "Whether the write was applied is not known" },
  internal: { status: 500, retryable: false, title: "An invariant of the program is broken" },
  // Opening a folder, a backup or a file.
  store_locked: { status: 503, retryable: false, title: "The folder is open in another process" },
  store_unwritable: { status: 503, retryable: false, title: "The folder cannot be used" },
  store_format: { status: 503, retryable: false, title: "The folder holds another data format" },
  store_damaged: { status: 503, retryable: false, title: "The stored data is damaged" },
  backup_invalid: { status: 400, retryable: false, title: "The file is not a whole backup" },
  // Tool calls.
  idempotency_conflict: { status: 422, retryable: false, title: "The key was used with other arguments" },
  call_in_flight: { status: 409, retryable: true, title: "The call is still running" },
  call_parked: { status: 409, retryable: false, title: "The call is parked" },
  needs_review: {
    status: 409,
    retryable: false,
    title: "Whether the call took effect is not known and must be resolved",
  },
  claim_lost: { status: 409, retryable: false, title: "The claim is no longer held" },
  nothing_to_resolve: { status: 409, retryable: false, title: "What became of the call is known" },
  tool_call_failed: { status: 424, retryable: false, title: "The call has failed" },
  record_malformed: { status: 500, retryable: false, title: "The stored document is not the record of a tool call" },
});

/** What an error may carry besides its message. */
export interface ErrorDetails {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** Where in the request the fault is, as `set.items[3].price`. */
  readonly path?: string;
  /** Seconds after which trying again makes sense. */
  readonly retryAfter?: number;
}

/**
 * The base of all errors that this package throws on purpose. A broken invariant is thrown as code `internal`; anything
 * that is not an `OnceKvError` is a fault of the program that called.
 */
export class OnceKvError extends Error {
  readonly code: ErrorCode;
  /** The HTTP status of this kind of fault. */
  readonly status: number;
  /** Whether the same call may succeed later without any change. */
  readonly retryable: boolean;
  /** Where in the request the fault is; absent when it is not in the request. */
  readonly path?: string;
  /** Seconds after which trying again makes sense; absent when that is not known. */
  readonly retryAfter?: number;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.name = new.target.name;
    this.code = code;
    this.status = errorTable[code].status;
    this.retryable = errorTable[code].retryable;
    if (details.path !== undefined) this.path = details.path;
    if (details.retryAfter !== undefined) this.retryAfter = details.retryAfter;
  }
}

/** A bad argument or request; `path` names the place. Status 400. */
export class InvalidRequestError extends OnceKvError {
  constructor(path: string, problem: string, details: Omit<ErrorDetails, "path"> = {}) {
    super("invalid_request", path === "" ? problem : `${path}: ${problem}`, { ...details, path });
  }
}

/** Something is over a limit; the message names the limit. Status 413. */
export class TooLargeError extends OnceKvError {
  constructor(path: string, problem: string) {
    super("too_large", path === "" ? problem : `${path}: ${problem}`, { path });
  }
}

/**
 * The answer to a write was lost, or the disk failed while it was written: it may have been applied or not, and it will
 * not be tried again in silence. Read the document, or repeat the write with the same write id, to find out.
 */
export class OutcomeUnknownError extends OnceKvError {
  constructor(message: string, details: ErrorDetails = {}) {
    super("outcome_unknown", message, details);
  }
}

/** The store was closed before or while the call ran. A write that rejects with it was not applied. */
export class StoreClosedError extends OnceKvError {
  constructor() {
    super("store_closed", "the store is closed");
  }
}

/** Throws when a rule that the program itself must keep is broken. Never used to judge a caller's input. */
export function invariant(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new OnceKvError("internal", `broken invariant: ${rule}`);
}
