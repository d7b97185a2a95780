import { isUtf8 } from "node:buffer";
import { InvalidRequestError, TooLargeError } from "../src/base/errors.js";
import { jsonFault } from "./json-fault.js";
import { brokenUtf8At, byteOffset } from "./json-place.js";
import { repeatedName } from "./repeated-name.js";

/** How much a text may hold, beside its length. */
export interface JsonBounds {
  /** Values in objects and arrays. A value of two characters takes 64 bytes in memory. */
  readonly valuesMax: number;
}

/**
 * Levels of objects and arrays in one text. What is stored has far fewer, and its own checks name the place; this is the bound on
 * what is made of a text before anything is known about it, and on every walk over it that calls itself (`JSON.stringify` does).
 */
const jsonDepthMax = 1000;

/**
 * Reads the JSON object in a request's body. Stricter than `JSON.parse` on its own: bytes that are not UTF-8 would come
 * out as U+FFFD, and of two members with one name the first would vanish, which for a condition means a write that
 * ignores it. An own `__proto__` stays an own member, for the checks of the values to refuse by its name.
 *
 * @param what the text is, for the error
 * @throws InvalidRequestError saying what is wrong with the text and at which byte, and nothing of what the text holds but a
 *   name that is there twice; TooLargeError for more values than `bounds` allow
 */
export function parseJsonObject(
  body: Buffer,
  what: string,
  { valuesMax }: JsonBounds = { valuesMax: Number.POSITIVE_INFINITY },
): object {
  if (!isUtf8(body)) {
    throw new InvalidRequestError("", `${what} is not well-formed UTF-8 at byte ${brokenUtf8At(body)}`);
  }
  const text = body.toString("utf8");
  const names = countNamesInText(text, what, valuesMax);
  const value = parse(text, what);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidRequestError("", `${what} must be a JSON object`);
  }
  if (names !== countNames(value)) {
    const { name, offset } = repeatedName(text);
    throw new InvalidRequestError("", `${what} names ${name} twice in one object, again at byte ${offset}`);
  }
  return value;
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message shows a piece of the text, and does not always say where that is.
    throw new InvalidRequestError("", `${what} is not JSON: ${jsonFault(text)}`);
  }
}

const quote = 34;
const comma = 44;
const colon = 58;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/**
 * Members in a valid JSON text: the colons outside its strings. On the way depth and values are bounded, before the parser
 * makes anything of them; a text that is not valid is counted somehow, and the parser says so later.
 */
function countNamesInText(text: string, what: string, valuesMax: number): number {
  let names = 0;
  let values = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case colon:
        names += 1;
        break;
      case comma:
        values += 1;
        break;
      case quote:
        index = endOfString(text, index);
        break;
      case openBrace:
      case openBracket:
        depth += 1;
        if (!isEmptyFrom(text, index + 1)) values += 1;
        if (depth > jsonDepthMax) {
          const offset = byteOffset(text, index);
          throw new InvalidRequestError("", `${what} is nested deeper than ${jsonDepthMax} levels at byte ${offset}`);
        }
        break;
      case closeBrace:
      case closeBracket:
        depth -= 1;
        break;
      default:
        break;
    }
    if (values > valuesMax) throw new TooLargeError("", `${what} has more than ${valuesMax} values`);
  }
  return names;
}

/** Whether an object or array that began before `position` ends there. */
function isEmptyFrom(text: string, position: number): boolean {
  let next = position;
  while (text.charCodeAt(next) <= 32) next += 1;
  const unit = text.charCodeAt(next);
  return unit === closeBracket || unit === closeBrace;
}

/** The position of the quote that ends the string which begins at `start`; the end of a text in which none does. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

/** An odd number of backslashes before a quote makes it a part of the string. */
function isEscaped(text: string, position: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(position - 1 - backslashes) === 92) backslashes += 1;
  return backslashes % 2 === 1;
}

/** Members in a parsed value. Without recursion, and from one value of a container to the next: there may be millions. */
function countNames(root: object): number {
  let names = 0;
  const open: object[] = [root];
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    const members: unknown[] = Array.isArray(container) ? container : Object.values(container);
    if (members !== container) names += members.length;
    for (const member of members) {
      if (typeof member === "object" && member !== null) open.push(member);
    }
  }
  return names;
}
