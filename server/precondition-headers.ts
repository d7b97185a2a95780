import type { IncomingHttpHeaders } from "node:http";
import { InvalidRequestError, OnceKvError } from "../src/base/errors.js";
import type { Condition } from "../src/documents/contract.js";

/*
 * A condition that a server does not understand must not be passed over: the write would happen although its caller
 * forbade it. So every header that begins with `If-` is either carried out as the standard says or refused.
 */

/** A strong tag as this server makes them: a revision in quotes. */
const strongTag = /^"([1-9]\d{0,15})"$/;
const weakTag = /^W\/"[^"]*"$/;

/**
 * The condition in the headers of a write; undefined when there is none.
 *
 * @throws InvalidRequestError for what is not a condition on a write; OnceKvError `precondition_failed` for a weak tag
 * in `If-Match`, which by the strong comparison of RFC 9110 matches nothing
 */
export function writeCondition(headers: IncomingHttpHeaders): Condition | undefined {
  let condition: Condition | undefined;
  for (const name in headers) {
    if (!isConditional(name)) continue;
    const found = readWriteHeader(name, headers[name]);
    if (condition !== undefined) throw new InvalidRequestError("If-Match", "cannot be combined with If-None-Match");
    condition = found;
  }
  return condition;
}

/**
 * The revision that a reader knows, from `If-None-Match`: 0 for an absent document; undefined when it says nothing. Here
 * the comparison is the weak one, so that a tag which a compressing proxy has weakened still matches.
 *
 * @throws InvalidRequestError
 */
export function knownRevision(headers: IncomingHttpHeaders): number | undefined {
  let known: number | undefined;
  for (const name in headers) {
    if (!isConditional(name)) continue;
    if (name !== "if-none-match") throw new InvalidRequestError(spelled(name), "is not supported here");
    const value = textOf(headers[name]);
    const revision = value === '"0"' || value === 'W/"0"' ? 0 : revisionOf(value.replace(/^W\//, ""));
    if (revision === undefined) {
      throw new InvalidRequestError(
        "If-None-Match",
        'must be one revision in quotes, as "7", or "0" for an absent document',
      );
    }
    known = revision;
  }
  return known;
}

/** Refuses every conditional header, where none has a meaning. @throws InvalidRequestError */
export function refuseConditions(headers: IncomingHttpHeaders): void {
  for (const name in headers) {
    if (isConditional(name)) throw new InvalidRequestError(spelled(name), "is not supported here");
  }
}

/** The entity tag of a revision. */
export function entityTag(revision: number): string {
  return `"${revision}"`;
}

function isConditional(name: string): boolean {
  return name.charCodeAt(0) === 105 && name.startsWith("if-");
}

function readWriteHeader(name: string, given: string | string[] | undefined): Condition {
  const value = textOf(given);
  if (name === "if-none-match") {
    if (value === "*") return { exists: false };
    throw new InvalidRequestError("If-None-Match", "a write takes only *, for a document that must not exist");
  }
  if (name !== "if-match")
    throw new InvalidRequestError(spelled(name), "is not supported; use If-Match or If-None-Match");
  if (value === "*") return { exists: true };
  if (weakTag.test(value)) throw new OnceKvError("precondition_failed", "If-Match: a weak tag matches nothing");
  const revision = revisionOf(value);
  if (revision === undefined) throw new InvalidRequestError("If-Match", 'must be one revision in quotes, as "7", or *');
  return { revision };
}

function revisionOf(tag: string): number | undefined {
  const digits = strongTag.exec(tag)?.[1];
  const revision = Number(digits);
  return digits !== undefined && Number.isSafeInteger(revision) ? revision : undefined;
}

function textOf(value: string | string[] | undefined): string {
  return typeof value === "string" ? value : "";
}

/** `if-none-match` as `If-None-Match`. */
function spelled(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
