import { InvalidRequestError } from "../base/errors.js";
import { memberPath } from "./member-path.js";
import { isPlainObject, type PlainObject } from "./plain-object.js";
import { kindOf } from "./value-kind.js";

/** The members that a kind of request may have. */
export type KnownMembers = ReadonlySet<string>;

/**
 * Takes a caller's request for an object whose own members are all known. Only a plain object will do: a condition that
 * lives on a prototype would be passed over, and the write would become an unconditional one. For the same reason a
 * member that is not known is refused and never ignored, also when its value is undefined. The checks that follow read
 * each member once.
 *
 * @param path of the request, "" when it is the whole call
 * @param what names the request when `path` does not: "the write"
 * @throws InvalidRequestError
 */
export function readMembers(value: unknown, path: string, what: string, known: KnownMembers): PlainObject {
  if (!isPlainObject(value)) {
    throw new InvalidRequestError(path, `${path === "" ? `${what} ` : ""}must be a plain object, not ${kindOf(value)}`);
  }
  for (const name of Object.keys(value)) {
    if (!known.has(name)) throw new InvalidRequestError(memberPath(path, name), unknownMember(known));
  }
  return value;
}

/** The path of a member whose name this package chose, so that it needs no quoting. */
export function pathTo(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Judges a member that must be true or false. @throws InvalidRequestError */
export function checkBoolean(value: unknown, path: string): boolean {
  if (typeof value !== "boolean") throw new InvalidRequestError(path, `must be true or false, not ${kindOf(value)}`);
  return value;
}

/** Judges a function that may be absent. @throws InvalidRequestError */
export function checkFunction(value: unknown, path: string): void {
  if (value !== undefined && typeof value !== "function") {
    throw new InvalidRequestError(path, `must be a function, not ${kindOf(value)}`);
  }
}

/** Judges a revision that a reader knows; 0 stands for an absent document or the beginning. @throws InvalidRequestError */
export function checkKnownRevision(value: unknown, path: string): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw new InvalidRequestError(path, `must be a revision, an integer from 0, not ${shown(value)}`);
  }
  return value;
}

/** Judges an abort signal, by what it can do: it may come from another realm. @throws InvalidRequestError */
export function checkSignal(value: unknown, path: string): AbortSignal {
  if (!isSignal(value)) throw new InvalidRequestError(path, `must be an AbortSignal, not ${kindOf(value)}`);
  return value;
}

/** A number as it is, anything else by its kind: for the message of an error. */
export function shown(value: unknown): string {
  return typeof value === "number" ? String(value) : kindOf(value);
}

function isSignal(value: unknown): value is AbortSignal {
  return (
    typeof value === "object" &&
    value !== null &&
    "aborted" in value &&
    typeof value.aborted === "boolean" &&
    "addEventListener" in value &&
    typeof value.addEventListener === "function"
  );
}

function unknownMember(known: KnownMembers): string {
  return `is not a member here; known are ${[...known].join(", ")}`;
}
