import { isDeepStrictEqual } from "node:util";
import type { Document, DocumentStore, Fields, PutOperation } from "../src/documents/contract.js";

/** A benchmark met an answer or a state that is wrong. Its numbers mean nothing, and the run fails. */
export class WrongResultError extends Error {
  override readonly name = "WrongResultError";
}

/** A write that was acknowledged, as it must be stored. */
export interface Written {
  readonly id: string;
  readonly fields: Fields;
  readonly revision: number;
}

/** Reads the documents again and compares. */
export async function checkStored(store: DocumentStore, shape: string, written: readonly Written[]): Promise<void> {
  if (written.length === 0) throw new WrongResultError("nothing was written");
  const documents = await store.getMany(written.map(({ id }) => ({ shape, id })));
  for (const [index, { id, fields, revision }] of written.entries()) {
    const document = documents[index];
    if (document?.revision !== revision || !isDeepStrictEqual(document.fields, fields)) {
      const found = JSON.stringify(document);
      throw new WrongResultError(`${id} must hold ${JSON.stringify(fields)} of revision ${revision}, but is ${found}`);
    }
  }
}

/** Sends a write whose condition does not hold; `winner` must win. */
export async function checkRefused(store: DocumentStore, write: PutOperation, winner: Written): Promise<void> {
  const outcome = await store.put(write).catch((error: unknown) => error);
  checkRefusal(outcome, winner);
}

/** What a losing write ended with must be the refusal that shows the winner. */
export function checkRefusal(outcome: unknown, winner: Written): void {
  if (!isPreconditionFailed(outcome)) {
    throw new WrongResultError(`${winner.id}: a write had to be refused, but ended with ${describe(outcome)}`, {
      cause: outcome,
    });
  }
  const current = outcome.failures[0]?.current;
  if (current?.revision !== winner.revision) {
    const shown = JSON.stringify(current);
    throw new WrongResultError(`${winner.id}: the refusal must show revision ${winner.revision}, but shows ${shown}`);
  }
}

function describe(outcome: unknown): string {
  return outcome instanceof Error ? outcome.message : JSON.stringify(outcome);
}

/** A refusal, as far as callers look at it. */
export interface Refusal {
  readonly failures: readonly { readonly current: Document | null }[];
}

/** By its code, since the error's class is the measured package's own, compiled apart from this file. */
export function isPreconditionFailed(error: unknown): error is Error & Refusal {
  return error instanceof Error && "code" in error && error.code === "precondition_failed" && "failures" in error;
}
