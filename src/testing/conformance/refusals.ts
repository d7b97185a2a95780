import assert from "node:assert/strict";
import { type ErrorCode, errorTable, OnceKvError } from "../../base/errors.js";
import type { DocumentStore } from "../../documents/contract.js";
import { type ConditionFailure, PreconditionFailedError } from "../../documents/precondition-failed.js";
import { soon } from "./case.js";

/** Passes a value that the types forbid, as a caller without types can. */
export function unchecked<T>(value: unknown): T {
  return value as T;
}

/** A store as a caller without types sees it. */
export interface UntypedStore {
  get(shape: unknown, id: unknown): Promise<unknown>;
  getDocument(shape: unknown, id: unknown): Promise<unknown>;
  getMany(keys: unknown): Promise<unknown>;
  put(write: unknown): Promise<unknown>;
  patch(write: unknown): Promise<unknown>;
  delete(write: unknown): Promise<unknown>;
  batch(operations: unknown, options?: unknown): Promise<unknown>;
  watch(options: unknown): AsyncIterable<unknown>;
}

/** The same store, for calls that the types forbid. */
export function untyped(store: DocumentStore): UntypedStore {
  return unchecked(store);
}

/** Asserts that the call rejects (it must not throw synchronously) with one of the codes; gives the error. */
export async function refuses(
  call: () => Promise<unknown>,
  code: ErrorCode | readonly ErrorCode[],
  about = "the call",
): Promise<OnceKvError> {
  const codes: readonly string[] = typeof code === "string" ? [code] : code;
  let promise: Promise<unknown>;
  try {
    promise = call();
  } catch (error) {
    assert.fail(`${about} must reject, but threw synchronously: ${String(error)}`);
  }
  const error = await soon(
    promise.then(
      (value) => assert.fail(`${about} must be refused, but gave ${JSON.stringify(value)}`),
      (reason: unknown) => reason,
    ),
    about,
  );
  if (error instanceof assert.AssertionError) throw error;
  assert.ok(error instanceof OnceKvError, `${about} must reject with an OnceKvError, but with ${String(error)}`);
  assert.ok(
    codes.includes(error.code),
    `${about}: expected ${codes.join(" or ")}, got ${error.code}: ${error.message}`,
  );
  assert.equal(error.status, errorTable[error.code].status);
  assert.equal(error.retryable, errorTable[error.code].retryable);
  return error;
}

/** Asserts that the request is refused as wrong in itself, and that the error names a place that includes `path`. */
export async function refusesRequest(
  call: () => Promise<unknown>,
  path?: string,
  about?: string,
): Promise<OnceKvError> {
  const error = await refuses(call, "invalid_request", about);
  if (path !== undefined) {
    assert.ok(
      error.path?.includes(path),
      `${about ?? "the error"} must name ${path}, but its path is ${error.path}: ${error.message}`,
    );
  }
  return error;
}

/** Asserts that the condition did not hold; gives the failures. */
export async function failsCondition(
  call: () => Promise<unknown>,
  about?: string,
): Promise<readonly ConditionFailure[]> {
  const error = await refuses(call, "precondition_failed", about);
  assert.ok(error instanceof PreconditionFailedError);
  assert.equal(error.status, 412);
  assert.ok(error.failures.length > 0);
  return error.failures;
}

/** The only failure of a single write. */
export async function failsOneCondition(call: () => Promise<unknown>, about?: string): Promise<ConditionFailure> {
  const [failure, ...more] = await failsCondition(call, about);
  assert.deepEqual(more, []);
  assert.ok(failure !== undefined);
  return failure;
}
