import { parseExactly, writeExactly } from "./exact-integers.js";

/*
 * Messages of JSON-RPC as they stand on one line each. They are looked at, not judged: what is no message is passed on, and
 * whoever it is meant for says what is wrong with it.
 */

/** Names a request in one direction of one connection. A number and the same digits as a string are two ids. */
export type RequestId = number | string;

/** A member of JSON that is an object. */
export interface JsonObject {
  readonly [name: string]: unknown;
}

/** Codes of errors that this program gives by itself. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** The other side is gone, or the call was refused here. */
  server: -32000,
} as const;

/** The value of a line, with its integers held exactly; undefined: it is no JSON. */
export function parseLine(line: Buffer): unknown {
  try {
    return parseExactly(line.toString("utf8"));
  } catch {
    return undefined;
  }
}

/**
 * Whether what is no JSON may be a call for a reader who is not so strict: some take NaN, comments or a mark of byte order.
 * Also one whose method is written with escapes.
 */
export function mayBeCall(line: Buffer): boolean {
  const plain = line
    .toString("utf8")
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    .replaceAll("\\/", "/");
  return plain.includes("tools/call");
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member of what may be an object. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The id of a request or of an answer; undefined: it has none that an answer could come under. */
export function idOf(message: unknown): RequestId | undefined {
  const id = memberOf(message, "id");
  return typeof id === "number" || typeof id === "string" ? id : undefined;
}

/** The method of a request or a notification; undefined: it is an answer, or no message. */
export function methodOf(message: unknown): string | undefined {
  const method = memberOf(message, "method");
  return typeof method === "string" ? method : undefined;
}

/** A value as a line. */
export function lineOf(value: unknown): Buffer {
  return Buffer.from(`${writeExactly(value)}\n`, "utf8");
}

export function resultLine(id: RequestId, result: unknown): Buffer {
  return lineOf({ jsonrpc: "2.0", id, result });
}

/** @param id null: of what cannot be read @param data undefined: none */
export function errorLine(id: RequestId | null, code: number, message: string, data?: unknown): Buffer {
  return lineOf({ jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } });
}

/** A line that surely ends as one. */
export function endedLine(line: Buffer): Buffer {
  return line.at(-1) === newline ? line : Buffer.concat([line, Buffer.from([newline])]);
}

export const newline = 0x0a;
