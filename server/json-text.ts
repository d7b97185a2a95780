import { isUtf8 } from "node:buffer";
import { InvalidRequestError } from "../src/base/errors.js";

/**
 * Reads the JSON object in a request's body. Stricter than `JSON.parse` on its own: bytes that are not UTF-8 would come
 * out as U+FFFD, and of two members with one name the first would vanish, which for a condition means a write that
 * ignores it. An own `__proto__` stays an own member, for the checks of the values to refuse by its name.
 *
 * @param what the text is, for the error
 * @throws InvalidRequestError saying what is wrong with the text
 */
export function parseJsonObject(body: Buffer, what: string): object {
  if (!isUtf8(body)) throw new InvalidRequestError("", `${what} is not well-formed UTF-8`);
  const text = body.toString("utf8");
  const value = parse(text, what);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidRequestError("", `${what} must be a JSON object`);
  }
  if (countNamesInText(text) !== countNames(value)) {
    throw new InvalidRequestError("", `${what} names ${JSON.stringify(repeatedName(text))} twice in one object`);
  }
  return value;
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new InvalidRequestError("", `${what} is not JSON: ${withoutContent(problem)}`);
  }
}

/**
 * What the parser says, without the piece of the text that it shows (`Unexpected token 'x', ..."pass":x"... is not valid
 * JSON`): a message goes into answers and logs, and a piece of a document or of a tokens file must not.
 */
function withoutContent(message: string): string {
  return message.replace(/, (?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON$/s, "");
}

const quote = 34;
const colon = 58;

/** Members in a valid JSON text: the colons outside its strings. */
function countNamesInText(text: string): number {
  let names = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === colon) names += 1;
    else if (unit === quote) index = endOfString(text, index);
  }
  return names;
}

/** The position of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** An odd number of backslashes before a quote makes it a part of the string. */
function isEscaped(text: string, position: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(position - 1 - backslashes) === 92) backslashes += 1;
  return backslashes % 2 === 1;
}

/** Members in a parsed value. Without recursion: nesting is bounded only later. */
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

/** The first name that one object in a valid JSON text has twice. */
function repeatedName(text: string): string {
  const open: Set<string>[] = [];
  for (let index = 0; index < text.length; index++) {
    const unit = text[index];
    if (unit === "{") open.push(new Set());
    else if (unit === "}") open.pop();
    else if (unit === '"') {
      const end = endOfString(text, index);
      if (/^\s*:/.test(text.slice(end + 1, end + 1024))) {
        const name = String(JSON.parse(text.slice(index, end + 1)));
        const names = open.at(-1);
        if (names?.has(name) === true) return name;
        names?.add(name);
      }
      index = end;
    }
  }
  return "";
}
