import { expect } from "vitest";
import { OnceKvError } from "../../src/base/errors.js";

/** The error that `act` throws, which must be one of the package's own. */
export function refusal(act: () => unknown): OnceKvError {
  try {
    act();
  } catch (error) {
    if (error instanceof OnceKvError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** Expects that `act` is refused as a bad request at `path`, with a message that matches `problem`. */
export function expectInvalid(act: () => unknown, path: string, problem: RegExp = /./): void {
  const error = refusal(act);
  expect({ code: error.code, status: error.status, path: error.path }).toStrictEqual({
    code: "invalid_request",
    status: 400,
    path,
  });
  expect(error.message).toMatch(problem);
  expect(error.message.startsWith(path)).toBe(true);
}

/** Expects that `act` is refused as too large at `path`, with a message that names the limit. */
export function expectTooLarge(act: () => unknown, path: string, limit: number): void {
  const error = refusal(act);
  expect({ code: error.code, status: error.status, path: error.path }).toStrictEqual({
    code: "too_large",
    status: 413,
    path,
  });
  expect(error.message).toContain(String(limit));
}
