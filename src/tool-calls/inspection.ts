import { InvalidRequestError } from "../base/errors.js";
import type { Document } from "../documents/contract.js";
import { checkBoolean, readMembers, shown } from "../documents/request-members.js";
import type { CallContext } from "./acquiring.js";
import { decideForget, holdLeftMs, isInDoubt } from "./decisions.js";
import { CallInFlightError } from "./errors.js";
import { prefixOf } from "./keys.js";
import {
  type SeenRecord,
  seenRecord,
  seenRecordOf,
  statuses,
  type ToolCallRecord,
  type ToolCallStatus,
} from "./record.js";

/* Looking at records, and forgetting them: for operators and for tests of what an agent did. */

/** A record with its document's revision and times. */
export type ToolCallDocument = Document<ToolCallRecord> & {
  /** When the claim of a pending record lapses unless it is renewed, ISO 8601; null: it is not pending. */
  readonly lease_expires_at: string | null;
};

export interface ToolCallListOptions {
  /** Only calls of this tool, in the given scope or, without one, in none. */
  readonly tool?: string | undefined;
  /** Only calls in this scope. */
  readonly scope?: string | undefined;
  /** Only calls with this status. They are picked from each page, so that pages may be short or empty. */
  readonly status?: ToolCallStatus | undefined;
  /**
   * Only calls whose outcome must be found out before anybody may fire again: unknown ones, and those that have lapsed
   * under another policy than `refire`. They are picked as with `status`.
   */
  readonly inDoubt?: boolean | undefined;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  /** Records looked at for the page. */
  readonly limit?: number | undefined;
}

export interface ToolCallPage {
  /** In the order of their keys. */
  readonly calls: readonly ToolCallDocument[];
  /** Keys of documents in the same shape that are no records of tool calls. */
  readonly malformed: readonly string[];
  /** Give it as `after` for the next page; null: there is none. */
  readonly next: string | null;
  readonly revision: number;
}

const listMembers: ReadonlySet<string> = new Set(["tool", "scope", "status", "inDoubt", "after", "limit"]);

/** @throws what the store throws, or `record_malformed` */
export async function getCall({ records }: CallContext, key: string): Promise<ToolCallDocument | undefined> {
  const document = await records.document(key);
  return document === undefined ? undefined : callDocument(document, seenRecord(document));
}

/** @throws InvalidRequestError, and what the store throws */
export async function listCalls({ records, limits }: CallContext, options: ToolCallListOptions): Promise<ToolCallPage> {
  readMembers(options, "", "the options", listMembers);
  const { tool, scope, status, inDoubt, after, limit } = options;
  const onlyInDoubt = inDoubt !== undefined && checkBoolean(inDoubt, "inDoubt");
  if (status !== undefined && !statuses.includes(status)) {
    throw new InvalidRequestError("status", `must be one of ${statuses.join(", ")}, not ${shown(status)}`);
  }
  const page = await records.list({
    prefix: prefixOf(tool, scope, limits),
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
  });
  const calls: ToolCallDocument[] = [];
  const malformed: string[] = [];
  for (const document of page.documents) {
    const seen = seenRecordOf(document);
    if (seen === undefined) malformed.push(document.id);
    else if ((status === undefined || seen.record.status === status) && (!onlyInDoubt || isInDoubt(seen))) {
      calls.push(callDocument(document, seen));
    }
  }
  return { calls, malformed, next: page.next, revision: page.revision };
}

/**
 * Deletes a record, so that the next call with its key is a new one. A claim that may be worked under is not forgotten.
 *
 * @returns whether there was one
 * @throws CallInFlightError, and what the store throws
 */
export async function forgetCall({ records }: CallContext, key: string): Promise<boolean> {
  let seen = await records.read(key);
  while (seen !== undefined) {
    const write = decideForget(seen);
    if (write === "in_flight") throw new CallInFlightError(seen, holdLeftMs(seen));
    const event = await records.write(key, write);
    if (event.event === "written") return true;
    if (event.event === "unanswered") throw event.error;
    seen = event.current;
  }
  return false;
}

function callDocument(document: Document, seen: SeenRecord): ToolCallDocument {
  return { ...document, fields: seen.record, lease_expires_at: leaseEnd(seen) };
}

function leaseEnd({ record, updatedAt }: SeenRecord): string | null {
  if (record.status !== "pending" || record.hold === null) return null;
  return new Date(updatedAt + Math.round(record.hold * 1000)).toISOString();
}
