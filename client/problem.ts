import {
  type ErrorCode,
  type ErrorDetails,
  errorTable,
  InvalidRequestError,
  OnceKvError,
  OutcomeUnknownError,
  StoreClosedError,
  TooLargeError,
} from "../src/base/errors.js";
import { type ConditionFailure, PreconditionFailedError } from "../src/documents/precondition-failed.js";

/** An answer that is not the one that was asked for. */
export interface Refusal {
  /** What the caller would be told. */
  readonly error: OnceKvError;
  /** The HTTP status, which for an answer of a proxy may differ from the error's own. */
  readonly status: number;
  /** True when the store's server gave the answer, by its code; false when a proxy or anything else did. */
  readonly fromStore: boolean;
  /** Seconds after which the answering side wants to be asked again. */
  readonly retryAfter?: number;
}

/** What an answer says besides its status and body. */
export interface AnswerContext {
  /** Seconds, from the header `Retry-After`. */
  readonly retryAfter?: number | undefined;
  /** Host and port, for messages about answers that no oncekv server gave. */
  readonly host?: string;
}

/** The same error that the embedded store would have thrown, from the problem that a server answered with. */
export function reviveProblem(status: number, body: string, context: AnswerContext = {}): OnceKvError {
  return readRefusal(status, body, context).error;
}

/** Reads a refusal. The body may be anything: proxies answer with pages, and connections end early. */
export function readRefusal(status: number, body: string, context: AnswerContext = {}): Refusal {
  const problem = parseObject(body);
  const code = problem?.["code"];
  const retryAfter = typeof problem?.["retry_after"] === "number" ? problem["retry_after"] : context.retryAfter;
  const details: ErrorDetails = retryAfter === undefined ? {} : { retryAfter };
  if (problem !== undefined && isErrorCode(code)) {
    return { error: reviveCode(code, problem, details), status, fromStore: true, ...details };
  }
  const message = `${context.host ?? "the server"} answered ${status}${firstWords(body)}`;
  return { error: foreignError(status, message, details), status, fromStore: false, ...details };
}

function reviveCode(code: ErrorCode, problem: Record<string, unknown>, details: ErrorDetails): OnceKvError {
  const detail = typeof problem["detail"] === "string" ? problem["detail"] : errorTable[code].title;
  const path = typeof problem["path"] === "string" ? problem["path"] : undefined;
  switch (code) {
    case "precondition_failed":
      return new PreconditionFailedError(readFailures(problem["failures"]));
    case "invalid_request":
      return new InvalidRequestError(path ?? "", withoutPath(detail, path));
    case "too_large":
      return new TooLargeError(path ?? "", withoutPath(detail, path));
    case "outcome_unknown":
      return new OutcomeUnknownError(detail);
    case "store_closed":
      return new StoreClosedError();
    default:
      return new OnceKvError(code, detail, path === undefined ? details : { ...details, path });
  }
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorTable, code);
}

/** A JSON object from a text, or undefined. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Something between us and the server has answered. A 404 of a proxy is not "there is no such document": that would let a
 * caller believe that nobody has claimed a call yet.
 */
function foreignError(status: number, message: string, details: ErrorDetails): OnceKvError {
  switch (status) {
    case 400:
      return new InvalidRequestError("", message);
    case 401:
      return new OnceKvError("unauthorized", message, details);
    case 403:
      return new OnceKvError("forbidden", message, details);
    case 404:
      return new OnceKvError("route_not_found", message, details);
    case 405:
      return new OnceKvError("method_not_allowed", message, details);
    case 413:
      return new TooLargeError("", message);
    case 415:
      return new OnceKvError("unsupported_media_type", message, details);
    default:
      return new OnceKvError("unavailable", message, details);
  }
}

function readFailures(failures: unknown): readonly ConditionFailure[] {
  return Array.isArray(failures) ? (failures as ConditionFailure[]) : [];
}

/** The classes put the path in front of the problem by themselves. */
function withoutPath(detail: string, path: string | undefined): string {
  return path !== undefined && path !== "" && detail.startsWith(`${path}: `) ? detail.slice(path.length + 2) : detail;
}

/** A short piece of a foreign answer, on one line, for the message. */
function firstWords(body: string): string {
  const words = body
    .slice(0, 400)
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 100);
  return words === "" ? "" : `: ${words}`;
}
