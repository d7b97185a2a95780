import type { Client } from "../../client/index.js";
import type { BatchOperation, BatchResult, Condition, Document, WriteResult } from "../../src/documents/contract.js";
import { type ConditionFailure, PreconditionFailedError } from "../../src/documents/precondition-failed.js";
import type { ModelChange, Output, Request, Seen } from "./history-types.js";

/** The shape of all documents in histories. */
export const documentShape = "register";

/**
 * How a write goes to the server: as a batch of the client, as its call for one document, or in a request of its own without a
 * write id, which is sent once.
 */
export type Sending = "client" | "single" | "bare";

/** What a request came to. */
export interface Answer {
  /** undefined: nobody knows. */
  readonly output: Output | undefined;
  /** The code of the error behind an unknown output. */
  readonly fault: string | undefined;
}

/** Sends a request to the server, and gives what is known of its answer. */
export async function askStore(
  store: Client,
  url: string,
  request: Request,
  sending: Sending,
  writeId?: string,
): Promise<Answer> {
  try {
    if (request.kind === "read") return known(await read(store, request.ids));
    if (request.kind === "list") return known(await list(store, request));
    if (sending === "bare") return await sendBare(url, request.changes);
    const identity = writeId === undefined ? {} : { write_id: writeId };
    const [first] = request.changes;
    if (sending === "single" && request.changes.length === 1 && first !== undefined) {
      const { op, ...write } = operationOf(first);
      const call = { ...write, ...identity };
      if (op === "put" && "set" in call) return known(written([await store.put(call)]));
      if (op === "patch") return known(written([await store.patch(call)]));
      if (op === "delete") return known(written([await store.delete(call)]));
    }
    return known(writtenBatch(await store.batch(request.changes.map(operationOf), identity)));
  } catch (error) {
    if (error instanceof PreconditionFailedError) return known(refused(error.failures));
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return code === "not_found" ? known({ kind: "missing" }) : { output: undefined, fault: code };
  }
}

function known(output: Output): Answer {
  return { output, fault: undefined };
}

async function read(store: Client, ids: readonly string[]): Promise<Output> {
  const [id = ""] = ids;
  const found =
    ids.length === 1
      ? [await store.getDocument(documentShape, id)]
      : await store.getMany(ids.map((each) => ({ shape: documentShape, id: each })));
  return { kind: "read", documents: found.map((document) => seenOf(document ?? null)), ...nowIn(found) };
}

async function list(store: Client, request: Request & { readonly kind: "list" }): Promise<Output> {
  const { prefix, after, reverse, limit } = request;
  const options = { prefix, reverse, limit, ...(after === undefined ? {} : { after }) };
  const { documents, next, revision } = await store.list(documentShape, options);
  const shown = documents.map((document) => ({ id: document.id, ...shownBy(document) }));
  return { kind: "page", documents: shown, next, revision, ...nowIn(documents) };
}

/** One request without a write id; a lost answer stays unknown. */
async function sendBare(url: string, changes: readonly ModelChange[]): Promise<Answer> {
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ operations: changes.map(operationOf) }),
    signal: AbortSignal.timeout(2000),
  });
  const body = (await response.json()) as BatchResult & { code?: string; failures?: ConditionFailure[] };
  if (response.status === 200) return known(writtenBatch(body));
  if (response.status === 412 && body.failures !== undefined) return known(refused(body.failures));
  if (response.status === 404) return known({ kind: "missing" });
  return { output: undefined, fault: body.code };
}

function writtenBatch({ revision, results }: BatchResult): Output {
  const told = results.map(({ expires_at, created }) => ({ deadline: instantOf(expires_at), created }));
  return { kind: "written", revision, results: told };
}

function written(results: readonly [WriteResult]): Output {
  return writtenBatch({ revision: results[0].revision, results });
}

function refused(failures: readonly ConditionFailure[]): Output {
  return {
    kind: "refused",
    failures: failures.map(({ index, current }) => ({ change: index, current: seenOf(current) })),
    ...nowIn(failures.map(({ current }) => current)),
  };
}

/** A change as the store is asked for it. */
export function operationOf(change: ModelChange): BatchOperation {
  const { id, condition } = change;
  const place = { shape: documentShape, id };
  const guard = condition === undefined ? {} : { if_match: conditionOf(condition) };
  if (change.kind === "delete") return { op: "delete", ...place, ...guard };
  if (change.kind === "check") return { op: "check", ...place, if_match: conditionOf(condition ?? { exists: true }) };
  const ttl = change.ttl === undefined ? {} : { ttl: change.ttl === null ? null : change.ttl / 1000 };
  if (change.kind === "put") return { op: "put", ...place, set: { ...change.fields }, ...ttl, ...guard };
  const merge = change.merge === undefined ? {} : { merge: { ...change.merge } };
  return { op: "patch", ...place, ...merge, ...ttl, ...guard };
}

function conditionOf({ fields, ...others }: NonNullable<ModelChange["condition"]>): Condition {
  return fields === undefined ? others : { ...others, fields: { ...fields } };
}

function seenOf(document: Document | null): Seen | null {
  return document === null ? null : shownBy(document);
}

/** A document as histories have it. */
export function shownBy({ fields, revision, expires_at }: Document): Seen {
  const numbers = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Number(value)]));
  return { fields: numbers, revision, deadline: instantOf(expires_at) };
}

/** The instant that documents of an answer are of. */
function nowIn(documents: readonly (Document | null | undefined)[]): { readonly now?: number } {
  const first = documents.find((document) => document !== null && document !== undefined);
  return first === undefined || first === null ? {} : { now: Date.parse(first.as_of) };
}

function instantOf(expiresAt: string | null): number | null {
  return expiresAt === null ? null : Date.parse(expiresAt);
}
