import { gzipSync } from "node:zlib";
import type { ErrorCode } from "../../src/base/errors.js";
import { secret } from "./base-request.js";

/** A body that no route reads, made of one that its route would take. */
export interface ParserCase {
  readonly name: string;
  /** @param json a valid body of the route, with at least one member */
  readonly spoil: (json: string) => Buffer;
  readonly headers?: { readonly [name: string]: string };
  readonly code: ErrorCode;
  /** How the error tells what is wrong, and where. */
  readonly says: RegExp;
}

const notUtf8 = /^the body is not well-formed UTF-8 at byte \d+$/;
const notJson = /^the body is not JSON: .+ at byte \d+$/;
const twice = /^the body names ".*" twice in one object, again at byte \d+$/;
const tooDeep = /^the body is nested deeper than 1000 levels at byte \d+$/;
const noObject = /^the body must be a JSON object$/;
const media = /content type|charset|content encoding|UTF-8/;

function text(name: string, spoil: (json: string) => string, says: RegExp): ParserCase {
  return { name, spoil: (json) => Buffer.from(spoil(json)), code: "invalid_request", says };
}

function bytes(name: string, broken: readonly number[]): ParserCase {
  return {
    name: `a text with ${name}`,
    spoil: (json) => {
      const end = json.indexOf(secret) === -1 ? 2 : json.indexOf(secret) + secret.length;
      return Buffer.concat([Buffer.from(json.slice(0, end)), Buffer.from(broken), Buffer.from(json.slice(end))]);
    },
    code: "invalid_request",
    says: notUtf8,
  };
}

/** A member before all others of a body. */
function member(name: string, added: (first: string) => string, says: RegExp): ParserCase {
  const spoil = (json: string): string => {
    const first = /^\{("(?:[^"\\]|\\.)*"):/.exec(json)?.[1] ?? '"none"';
    return `{${added(first)},${json.slice(1)}`;
  };
  return text(name, spoil, says);
}

function headers(name: string, given: { readonly [name: string]: string }, code: ErrorCode): ParserCase {
  return { name, spoil: (json) => Buffer.from(json), headers: given, code, says: media };
}

export const parserCases: readonly ParserCase[] = [
  bytes("a byte that begins no character", [0xff]),
  bytes("a character that is cut off", [0xc3]),
  bytes("an overlong slash", [0xc0, 0xaf]),
  bytes("an overlong NUL", [0xc0, 0x80]),
  bytes("an encoded surrogate", [0xed, 0xa0, 0x80]),
  bytes("a character beyond Unicode", [0xf4, 0x90, 0x80, 0x80]),
  { ...bytes("", []), name: "UTF-16", spoil: (json) => Buffer.from(`\ufeff${json}`, "utf16le") },
  { ...bytes("", []), name: "a gzip", spoil: (json) => gzipSync(json) },
  text("a byte order mark", (json) => `\ufeff${json}`, notJson),
  text("a body cut in the middle", (json) => json.slice(0, Math.ceil(json.length / 2)), notJson),
  text("a body without its last brace", (json) => json.slice(0, -1), notJson),
  text("two bodies", (json) => `${json}${json}`, notJson),
  text("something behind the body", (json) => `${json} ${secret}`, notJson),
  text("a NUL behind the body", (json) => `${json}\0`, notJson),
  text("a comma before the end", (json) => `${json.slice(0, -1)},}`, notJson),
  text("a comment", (json) => `/* ${secret} */${json}`, notJson),
  text("single quotes", (json) => json.replaceAll('"', "'"), notJson),
  text("only white space", () => " \n\t ", notJson),
  text("only an open brace", () => "{", notJson),
  text("a word", () => secret, notJson),
  text("null", () => "null", noObject),
  text("true", () => "true", noObject),
  text("a number", () => "1", noObject),
  text("a string", () => `"${secret}"`, noObject),
  text("an array", (json) => `[${json}]`, noObject),
  text("a hundred thousand open brackets", () => "[".repeat(100_000), tooDeep),
  member("a hundred thousand arrays in each other", () => `"x":${"[".repeat(1e5)}${"]".repeat(1e5)}`, tooDeep),
  member("a hundred thousand objects in each other", () => `"x":${'{"a":'.repeat(1e5)}1${"}".repeat(1e5)}`, tooDeep),
  member("a name without quotes", () => `x:"${secret}"`, notJson),
  member("NaN", () => '"x":NaN', notJson),
  member("Infinity", () => '"x":-Infinity', notJson),
  member("undefined", () => '"x":undefined', notJson),
  member("a hexadecimal number", () => '"x":0x10', notJson),
  member("a number with a leading zero", () => '"x":010', notJson),
  member("a number with a plus", () => '"x":+1', notJson),
  member("a number that ends with its point", () => '"x":1.', notJson),
  member("a digit separator", () => '"x":1_000', notJson),
  member("a raw NUL in a text", () => `"x":"${secret}\0"`, notJson),
  member("a raw line feed in a text", () => `"x":"${secret}\n"`, notJson),
  member("an escape that is none", () => `"x":"${secret}\\x41"`, notJson),
  member("an escape that is cut off", () => `"x":"${secret}\\u12"`, notJson),
  member("its first member twice", (first) => `${first}:"${secret}"`, twice),
  member("one name twice, spelled in two ways", () => '"surprise":1,"\\u0073urprise":2', twice),
  member("one name twice, in an inner object", () => '"x":[{"y":{"z":1,"z":1}}]', twice),
  member("__proto__ twice", () => '"__proto__":1,"__proto__":1', twice),
  headers("no content type", { "content-type": "" }, "unsupported_media_type"),
  headers("the content type of text", { "content-type": "text/plain" }, "unsupported_media_type"),
  headers(
    "the content type of a form",
    { "content-type": "multipart/form-data; boundary=x" },
    "unsupported_media_type",
  ),
  headers("the content type of a patch", { "content-type": "application/merge-patch+json" }, "unsupported_media_type"),
  headers("a content type that only begins well", { "content-type": "application/jsonp" }, "unsupported_media_type"),
  headers("the charset of UTF-16", { "content-type": "application/json; charset=utf-16" }, "unsupported_media_type"),
  headers("a content encoding", { "content-encoding": "gzip" }, "unsupported_media_type"),
];
