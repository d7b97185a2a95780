import { invariant, TooLargeError } from "../src/base/errors.js";
import type { Limits } from "../src/base/limits.js";
import type { Condition, Fields, WriteResult } from "../src/documents/contract.js";
import type { CheckedWrite } from "../src/documents/requests.js";
import type { HttpRequest } from "./exchange.js";
import { batchPath, documentPath } from "./paths.js";

/** How writes that were judged look on the wire. Pure: `http-store.ts` sends them. */

/** A write's request without the headers that all requests have. */
export interface WriteRequest extends HttpRequest {
  /** Whether the answer is that of a batch of one. */
  readonly isBatch: boolean;
}

/** @throws TooLargeError when the text alone shows that the fields are over their limit */
export function writeRequest(write: CheckedWrite, limits: Limits): WriteRequest {
  const path = documentPath(write.shape, write.id);
  if (write.kind === "delete") return deleteRequest(write, path, limits);
  const body = JSON.stringify(membersOf(write));
  // The fields, and those of a condition. What is smaller is for the server to judge, by the stored form.
  checkLength(body, 2 * limits.fieldsBytesMax, "the document's fields", limits.fieldsBytesMax);
  return { method: write.kind === "put" ? "PUT" : "PATCH", path, headers: [], body, isBatch: false };
}

/**
 * A byte of a stored document is at most this many in JSON text: a control character is written as `\u0001`, and `false`
 * with its comma is one byte in store.
 */
const textPerStoredByte = 6;
/** Names, keys and braces around the fields of one operation. */
const envelopeLength = 8 * 1024;

/**
 * A text that is surely too large is not sent: the server would refuse it before it is through, and its answer might be
 * lost with the connection.
 */
function checkLength(text: string, fieldsBytesMax: number, what: string, bytesMax: number, operations = 1): void {
  if (text.length <= fieldsBytesMax * textPerStoredByte + operations * envelopeLength) return;
  throw new TooLargeError("", `${what} take more than the limit of ${bytesMax} bytes`);
}

/**
 * A DELETE carries its condition in a header, because a proxy may drop the body of a DELETE, and what is left would be an
 * unconditional one. Conditions that no header can say go as a batch of one.
 */
function deleteRequest(write: CheckedWrite, path: string, limits: Limits): WriteRequest {
  const headers = write.condition === undefined ? [] : conditionHeader(write.condition);
  if (headers === undefined) return { ...batchRequest([write], limits), isBatch: true };
  return { method: "DELETE", path: write.wantsDocument ? `${path}?return=document` : path, headers, isBatch: false };
}

/** The header that says the same as the condition; undefined when there is none. */
function conditionHeader({ exists, revision, fields }: Condition): string[] | undefined {
  if (fields !== undefined || (exists !== undefined && revision !== undefined)) return undefined;
  if (revision !== undefined) return ["if-match", `"${revision}"`];
  return [exists === true ? "if-match" : "if-none-match", "*"];
}

/** @throws TooLargeError as `writeRequest` does */
export function batchRequest(writes: readonly CheckedWrite[], limits: Limits): HttpRequest {
  const operations = writes.map((write) => ({
    op: write.kind,
    shape: write.shape,
    id: write.id,
    ...membersOf(write),
  }));
  const body = JSON.stringify({ operations });
  checkLength(body, limits.batchBytesMax, "the fields of the batch", limits.batchBytesMax, writes.length);
  return { method: "POST", path: batchPath, headers: [], body };
}

/** The result of the only write of a batch, as if it had been sent by itself. */
export function onlyResult(body: unknown): WriteResult {
  const { results, replayed } = body as { results: WriteResult[]; replayed?: true };
  const [result] = results;
  invariant(result !== undefined, "the answer to a batch of one holds one result");
  return replayed === true ? { ...result, replayed } : result;
}

/** What a write says beyond naming its document. */
function membersOf(write: CheckedWrite): WriteMembers {
  const members: WriteMembers = {};
  if (write.fields !== undefined) {
    if (write.kind === "put") members.set = write.fields;
    else members.merge = write.fields;
  }
  if (write.ttlMs !== undefined) members.ttl = write.ttlMs === null ? null : write.ttlMs / 1000;
  if (write.condition !== undefined) members.if_match = write.condition;
  if (write.wantsDocument) members.return = "document";
  return members;
}

interface WriteMembers {
  set?: Fields;
  merge?: Fields;
  ttl?: number | null;
  if_match?: Condition;
  return?: "document";
}
