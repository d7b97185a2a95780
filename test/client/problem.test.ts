import { describe, expect, test } from "vitest";
import { readRefusal, reviveProblem } from "../../client/problem.js";
import {
  type ErrorCode,
  errorTable,
  InvalidRequestError,
  OnceKvError,
  OutcomeUnknownError,
  StoreClosedError,
  TooLargeError,
} from "../../src/base/errors.js";
import { PreconditionFailedError } from "../../src/documents/precondition-failed.js";

/** As the server writes an error. */
function problemOf(error: OnceKvError): string {
  return JSON.stringify({
    type: `urn:oncekv:error:${error.code}`,
    title: errorTable[error.code].title,
    status: error.status,
    detail: error.message,
    code: error.code,
    retryable: error.retryable,
    path: error.path,
    retry_after: error.retryAfter,
    ...(error instanceof PreconditionFailedError ? { failures: error.failures } : {}),
  });
}

describe("a problem becomes the error that the store threw", () => {
  const failure = {
    index: 1,
    shape: "note",
    id: "a/b",
    expected: { revision: 3 },
    current: {
      shape: "note",
      id: "a/b",
      fields: { n: 1 },
      revision: 4,
      created_revision: 2,
      created_at: "2026-01-01T00:00:00.000Z",
      updated_at: "2026-01-01T00:00:01.000Z",
      expires_at: null,
      as_of: "2026-01-01T00:00:02.000Z",
    },
  };
  const errors: OnceKvError[] = [
    new PreconditionFailedError([failure, { ...failure, index: 2, current: null, current_omitted: true }]),
    new InvalidRequestError("set.items[3].price", "must be finite"),
    new InvalidRequestError("", "must be a plain object"),
    new TooLargeError("set", "is over 1 MiB"),
    new OutcomeUnknownError("the disk failed"),
    new StoreClosedError(),
    ...(Object.keys(errorTable) as ErrorCode[])
      .filter((code) => !["precondition_failed", "store_closed"].includes(code))
      .map((code) => new OnceKvError(code, "because")),
    new OnceKvError("overloaded", "wait", { retryAfter: 1.5 }),
    new OnceKvError("revision_unknown", "since is 9", { path: "since" }),
  ];

  test.each(errors.map((error) => [error.code, error] as const))("%s", (_code, error) => {
    const revived = reviveProblem(error.status, problemOf(error));
    expect(revived).toBeInstanceOf(OnceKvError);
    expect(revived.code).toBe(error.code);
    expect(revived.message).toBe(error.message);
    expect(revived.status).toBe(error.status);
    expect(revived.retryable).toBe(error.retryable);
    expect(revived.retryAfter).toBe(error.retryAfter);
    if (error.path !== undefined) expect(revived.path).toBe(error.path);
    if (error instanceof PreconditionFailedError) {
      expect(revived).toBeInstanceOf(PreconditionFailedError);
      expect(revived).toHaveProperty("failures", error.failures);
    }
  });

  test("with its class", () => {
    const classes = [InvalidRequestError, TooLargeError, OutcomeUnknownError, StoreClosedError] as const;
    const codes = ["invalid_request", "too_large", "outcome_unknown", "store_closed"] as const;
    for (const [index, code] of codes.entries()) {
      expect(reviveProblem(errorTable[code].status, JSON.stringify({ code }))).toBeInstanceOf(classes[index]);
    }
  });
});

describe("an answer that no store gave", () => {
  test("is an error, whatever its body", () => {
    const bodies = [
      "",
      "<html><body><h1>502 Bad Gateway</h1></body></html>",
      "null",
      "[]",
      "7",
      '{"code":1}',
      '{"code":"toString"}',
    ];
    for (const body of bodies) {
      const refusal = readRefusal(502, body, { host: "127.0.0.1:7070" });
      expect(refusal.fromStore).toBe(false);
      expect(refusal.error.code).toBe("unavailable");
      expect(refusal.error.message).toContain("127.0.0.1:7070 answered 502");
    }
  });

  test("shows the first words of a page in its message, on one line", () => {
    const { error } = readRefusal(503, `<html>\n<title>Service</title>\n<b>Unavailable</b> ${"x".repeat(500)}</html>`);
    expect(error.message).toContain(": Service Unavailable xxx");
    expect(error.message.length).toBeLessThan(200);
  });

  test("never means that a document is absent", () => {
    expect(reviveProblem(404, "Not found").code).toBe("route_not_found");
  });

  test("keeps the meaning of its status", () => {
    const codes = new Map<number, ErrorCode>([
      [400, "invalid_request"],
      [401, "unauthorized"],
      [403, "forbidden"],
      [405, "method_not_allowed"],
      [413, "too_large"],
      [415, "unsupported_media_type"],
      [302, "unavailable"],
      [418, "unavailable"],
    ]);
    for (const [status, code] of codes) expect(reviveProblem(status, "").code).toBe(code);
  });

  test("keeps the header Retry-After", () => {
    expect(reviveProblem(503, "", { retryAfter: 4 }).retryAfter).toBe(4);
  });
});
