import assert from "node:assert/strict";
import { type ErrorCode, OnceKvError } from "../../src/base/errors.js";

/** Awaits a rejection with an error of ours; gives the error. */
export async function rejection(promise: Promise<unknown>, code: ErrorCode): Promise<OnceKvError> {
  const error = await promise.then(
    () => assert.fail(`expected ${code}, but the call succeeded`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof OnceKvError, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}
