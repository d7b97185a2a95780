import { defaultLimits, type Limits } from "../base/limits.js";
import type { JsonValue } from "../documents/contract.js";
import { checkJson } from "../documents/json-value.js";
import type { StoredError } from "./record.js";

/*
 * What a tool threw, as JSON and back, so that a replayed failure says what the first one said: name, message, code,
 * status, whether it may be retried, and the same of its causes. Stacks stay out: they tell a later caller nothing, and
 * name the files of another machine.
 */

/** Characters of a stored message: room for any explanation, not for a page of HTML that a server sent with its error. */
const messageLengthMax = 4096;

/** Characters of a name or a code. */
const nameLengthMax = 256;

/** Errors in a chain of causes that are kept. */
const causesMax = 5;

/** A thrown value that is no error may be this large in its JSON text. */
const valueLengthMax = 4096;

const limits: Limits = Object.freeze({ ...defaultLimits, depthMax: 8, fieldsBytesMax: valueLengthMax });

/** Never throws, whatever was thrown. */
export function encodeError(thrown: unknown): StoredError {
  return encode(thrown, causesMax);
}

/** An error like the one that was encoded, with its causes; a value that is no error comes back as it was. */
export function reviveError(stored: StoredError): unknown {
  if (stored["kind"] === "undefined") return undefined;
  if (stored["kind"] === "value") return stored["value"];
  const message = stored["message"];
  const cause = stored["cause"];
  const error = new Error(
    typeof message === "string" ? message : "",
    isStoredError(cause) ? { cause: reviveError(cause) } : undefined,
  );
  const name = stored["name"];
  // As in the original, a name is no member that printing shows.
  if (typeof name === "string") {
    Object.defineProperty(error, "name", { value: name, configurable: true, writable: true, enumerable: false });
  }
  for (const property of keptProperties) {
    const value = stored[property];
    if (value !== undefined) Object.assign(error, { [property]: value });
  }
  return error;
}

/** What a stored error says in one line. */
export function messageOf(stored: StoredError): string {
  const { message, value, name } = stored;
  if (typeof message === "string" && message !== "") return message;
  if (value !== undefined) return JSON.stringify(value);
  return typeof name === "string" ? name : "undefined";
}

const keptProperties = ["code", "status", "statusCode", "retryable", "outcome"] as const;

function encode(thrown: unknown, depth: number): StoredError {
  if (thrown === undefined) return { kind: "undefined" };
  if (!isErrorLike(thrown)) return encodeValue(thrown);
  const stored: StoredError = {
    name: cut(textOf(read(thrown, "name")) ?? "Error", nameLengthMax),
    message: cut(textOf(read(thrown, "message")) ?? "", messageLengthMax),
  };
  for (const property of keptProperties) {
    const value = read(thrown, property);
    if (typeof value === "string") stored[property] = cut(value, nameLengthMax);
    else if (typeof value === "boolean" || Number.isSafeInteger(value)) stored[property] = value as JsonValue;
  }
  const cause = read(thrown, "cause");
  if (cause !== undefined && depth > 1) stored["cause"] = encode(cause, depth - 1);
  return stored;
}

function encodeValue(thrown: unknown): StoredError {
  try {
    const value = checkJson(thrown, "", limits);
    if (JSON.stringify(value).length <= valueLengthMax) return { kind: "value", value };
  } catch {
    // It is not JSON: what it says about itself must do.
  }
  return { name: typeof thrown, message: cut(spoken(thrown), messageLengthMax) };
}

/** Errors of other realms, and what merely looks like one, count too: both say something in `message`. */
function isErrorLike(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return value instanceof Error || typeof read(value, "message") === "string";
}

function isStoredError(value: JsonValue | undefined): value is StoredError {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function spoken(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `a ${typeof value} that cannot be shown`;
  }
}

/** Cut to length, and well-formed: half a character cannot be stored. */
function cut(text: string, lengthMax: number): string {
  const whole = text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 3)}...`;
  return whole.replace(/\p{Surrogate}/gu, "\u{FFFD}");
}

function read(object: object, name: string): unknown {
  try {
    return Reflect.get(object, name);
  } catch {
    return undefined;
  }
}
