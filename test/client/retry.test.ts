import { describe, expect, test } from "vitest";
import { readRefusal } from "../../client/problem.js";
import { backoffMs, decideRetry, type Fault, parseRetryAfter, type RetryState } from "../../client/retry.js";
import { type ErrorCode, errorTable } from "../../src/base/errors.js";

const read: RetryState = {
  attempt: 1,
  elapsedMs: 0,
  budgetMs: 30_000,
  write: false,
  mayBeApplied: false,
  closing: false,
};
const write: RetryState = { ...read, write: true };

const lost: Fault = { kind: "lost", cause: new Error("other side closed") };
const unsent: Fault = { kind: "unsent", cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) };

/** What the store's own server answers. */
function problem(code: ErrorCode, retryAfter?: number): Fault {
  const { status } = errorTable[code];
  const body = JSON.stringify({
    code,
    detail: "because",
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
  });
  return { kind: "refused", ...readRefusal(status, body) };
}

/** What a proxy answers. */
function page(status: number, retryAfter?: number): Fault {
  return { kind: "refused", ...readRefusal(status, "<h1>Sorry</h1>", { retryAfter }) };
}

function spent(state: RetryState): RetryState {
  return { ...state, elapsedMs: state.budgetMs };
}

describe("whether a request is sent again", () => {
  test("after a lost answer, a refused connection, and answers that say not now", () => {
    const busy = [problem("overloaded"), problem("rate_limited")];
    const faults = [lost, unsent, ...busy, problem("store_closed"), problem("unavailable")];
    const pages = [408, 429, 502, 503, 504].map((status) => page(status));
    for (const state of [read, write]) {
      for (const fault of [...faults, ...pages]) expect(decideRetry(fault, state, 0.5).kind).toBe("retry");
    }
  });

  test("not after an answer that another attempt would not change", () => {
    const codes: ErrorCode[] = [
      "invalid_request",
      "unauthorized",
      "forbidden",
      "not_found",
      "precondition_failed",
      "too_large",
      "write_id_conflict",
      "revision_compacted",
      "store_failed",
    ];
    for (const code of codes) {
      for (const state of [read, write]) {
        expect(decideRetry(problem(code), state, 0.5)).toEqual({ kind: "give_up", as: "refusal" });
      }
    }
    for (const status of [301, 400, 401, 403, 404, 413]) {
      expect(decideRetry(page(status), write, 0.5)).toEqual({ kind: "give_up", as: "refusal" });
    }
    // A fault in the server can come after the commit.
    expect(decideRetry(problem("internal"), read, 0.5)).toEqual({ kind: "give_up", as: "refusal" });
    expect(decideRetry(problem("internal"), write, 0.5)).toEqual({ kind: "give_up", as: "outcome_unknown" });
  });

  test("not with a certificate that is wrong", () => {
    const cause = Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(decideRetry({ kind: "unsent", cause }, read, 0)).toEqual({ kind: "give_up", as: "unavailable" });
  });

  test("not when the time is over, or would be before the next attempt", () => {
    expect(decideRetry(lost, { ...read, elapsedMs: 29_990 }, 0).kind).toBe("retry");
    expect(decideRetry(lost, { ...read, elapsedMs: 29_990 }, 0.9).kind).toBe("give_up");
    expect(decideRetry(problem("overloaded", 31), read, 0).kind).toBe("give_up");
    expect(decideRetry(lost, { ...read, budgetMs: 0 }, 0.01).kind).toBe("give_up");
  });

  test("not while the client closes", () => {
    expect(decideRetry(lost, { ...read, closing: true }, 0)).toEqual({ kind: "give_up", as: "unavailable" });
    expect(decideRetry(lost, { ...write, closing: true }, 0)).toEqual({ kind: "give_up", as: "outcome_unknown" });
  });
});

describe("when a request is sent again", () => {
  test("at a random time within a window that doubles up to two seconds", () => {
    expect([1, 2, 3, 6, 7, 8, 1000].map((attempt) => backoffMs(attempt, 1))).toEqual([
      50, 100, 200, 1600, 2000, 2000, 2000,
    ]);
    expect(backoffMs(5, 0)).toBe(0);
    expect(backoffMs(5, 0.25)).toBe(200);
  });

  test("not before the time that the answer names", () => {
    expect(decideRetry(problem("overloaded", 2.5), read, 0.5)).toEqual({ kind: "retry", delayMs: 2525 });
    expect(decideRetry(page(503, 3), { ...read, attempt: 2 }, 0.5)).toEqual({ kind: "retry", delayMs: 3050 });
  });

  test("the header Retry-After holds seconds or a date", () => {
    const now = Date.UTC(2026, 0, 1);
    expect(parseRetryAfter("120", now)).toBe(120);
    expect(parseRetryAfter("Thu, 01 Jan 2026 00:00:30 GMT", now)).toBe(30);
    expect(parseRetryAfter("Thu, 01 Jan 2015 00:00:30 GMT", now)).toBe(0);
    expect(parseRetryAfter("soon", now)).toBeUndefined();
    expect(parseRetryAfter(undefined, now)).toBeUndefined();
  });
});

describe("what is told when a write is given up", () => {
  test("unavailable, if nothing was ever sent", () => {
    expect(decideRetry(unsent, spent(write), 1)).toEqual({ kind: "give_up", as: "unavailable" });
  });

  test("what the store said, if it did not apply it", () => {
    for (const code of ["overloaded", "rate_limited", "store_closed", "store_failed"] as const) {
      expect(decideRetry(problem(code), spent(write), 1)).toEqual({ kind: "give_up", as: "refusal" });
    }
  });

  test("that the outcome is not known, once a request may have been applied", () => {
    const faults = [lost, page(500), page(502), page(503), page(504), page(408), problem("outcome_unknown")];
    for (const fault of faults) {
      expect(decideRetry(fault, spent(write), 1)).toEqual({ kind: "give_up", as: "outcome_unknown" });
    }
  });

  test("that the outcome is not known, if a later attempt says nothing about an earlier one", () => {
    const later = { ...spent(write), mayBeApplied: true };
    const codes: ErrorCode[] = ["overloaded", "store_closed", "store_failed", "unauthorized", "forbidden", "internal"];
    for (const fault of [unsent, page(404), page(429), ...codes.map((code) => problem(code))]) {
      expect(decideRetry(fault, later, 1)).toEqual({ kind: "give_up", as: "outcome_unknown" });
    }
  });

  test("the answer, if it settles that very write", () => {
    const later = { ...write, mayBeApplied: true };
    const codes = ["precondition_failed", "not_found", "write_id_conflict", "invalid_request", "too_large"] as const;
    for (const code of codes) {
      expect(decideRetry(problem(code), later, 0)).toEqual({ kind: "give_up", as: "refusal" });
    }
  });

  test("a read is never of unknown outcome", () => {
    for (const fault of [lost, unsent]) {
      expect(decideRetry(fault, spent(read), 1)).toEqual({ kind: "give_up", as: "unavailable" });
    }
    expect(decideRetry(page(502), spent(read), 1)).toEqual({ kind: "give_up", as: "refusal" });
  });
});
