import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import type { JsonValue } from "../documents/contract.js";
import { isPlainObject } from "../documents/plain-object.js";
import { kindOf } from "../documents/value-kind.js";
import type { HeaderList } from "./kept-headers.js";

/** The layout of stored answers. */
const answerFormat = 1;

/** An answer as it is sent: the first time, and as a replay. */
export interface Answer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** The same where the body may have been too large to keep: then only that the request was answered so is known. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  /** null: too large. */
  readonly body: Buffer | null;
}

/** An answer as JSON: the result of the call, in its record. */
export type StoredAnswer = { readonly [name: string]: JsonValue };

/** An answer that somebody states, who knows what became of a request. */
export interface StatedAnswer {
  /** 200 to 499. */
  readonly status: number;
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** A text is sent as UTF-8. */
  readonly body?: string | Uint8Array | undefined;
}

/**
 * An answer in the form in which it is stored, for whoever resolves a request that is in doubt:
 * `calls.resolve(key, { result: storedAnswer({ status: 201, body }) }, { by })`, or the answer of a `reconcile` function.
 *
 * @throws InvalidRequestError
 */
export function storedAnswer(answer: StatedAnswer): StoredAnswer {
  const { status, headers = {}, body = "" } = answer;
  if (!isStorableStatus(status)) throw new InvalidRequestError("status", `must be 200 to 499, not ${String(status)}`);
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new InvalidRequestError("body", `must be a string or bytes, not ${kindOf(body)}`);
  }
  const list = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), String(value)]);
  return encodeAnswer({ status, headers: list, body: Buffer.from(body) });
}

/** Bodies that are text are stored as text: people read records, and base64 is a third longer. */
export function encodeAnswer({ status, headers, body }: KeptAnswer): StoredAnswer {
  const head = { format: answerFormat, status, headers: headers.map((header) => [...header]) };
  if (body === null) return { ...head, body_omitted: "too_large" };
  const text = textOf(body);
  if (text !== undefined) return { ...head, body: text, body_encoding: "utf8" };
  return { ...head, body: body.toString("base64"), body_encoding: "base64" };
}

/**
 * @param stored the result of a completed call
 * @throws OnceKvError `record_malformed`
 */
export function decodeAnswer(stored: unknown): KeptAnswer {
  if (!isPlainObject(stored)) throw malformed(`is not an object but ${kindOf(stored)}`);
  const { format, status, headers, body, body_encoding: encoding, body_omitted: omitted } = stored;
  if (format !== answerFormat) throw malformed(`has the format ${String(format)}`);
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599) {
    throw malformed("has no status");
  }
  if (!Array.isArray(headers) || !headers.every(isHeader)) throw malformed("has no headers");
  if (omitted !== undefined) return { status, headers, body: null };
  if (typeof body !== "string" || (encoding !== "utf8" && encoding !== "base64")) throw malformed("has no body");
  return { status, headers, body: Buffer.from(body, encoding) };
}

function isHeader(header: unknown): header is readonly [string, string] {
  return Array.isArray(header) && header.length === 2 && header.every((part) => typeof part === "string");
}

function isStorableStatus(status: unknown): boolean {
  return typeof status === "number" && Number.isInteger(status) && status >= 200 && status < 500;
}

/** The text whose UTF-8 are these very bytes; undefined when there is none. */
function textOf(body: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

function malformed(problem: string): OnceKvError {
  return new OnceKvError("record_malformed", `the stored result is no answer to an HTTP request: it ${problem}`);
}
