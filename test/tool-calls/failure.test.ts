import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { OnceKvError, OutcomeUnknownError } from "../../src/base/errors.js";
import { classifyFailure, classOf, outcomeFor } from "../../src/tool-calls/failure.js";
import { held } from "./sample-records.js";

function withStatus(status: number): Error {
  return Object.assign(new Error(`status ${status}`), { status });
}

describe("the default classifier", () => {
  it("takes a definite refusal of the request for failed", () => {
    for (const status of [400, 401, 402, 403, 404, 405, 410, 412, 413, 415, 422, 451]) {
      expect(classifyFailure(withStatus(status))).toBe("failed");
    }
    expect(classifyFailure(Object.assign(new Error(), { statusCode: 402 }))).toBe("failed");
    expect(classifyFailure({ response: { status: 404 } })).toBe("failed");
  });

  it("takes what was certainly not processed for retryable", () => {
    expect(classifyFailure(withStatus(425))).toBe("retryable");
    expect(classifyFailure(withStatus(429))).toBe("retryable");
    for (const code of ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]) {
      expect(classifyFailure(new TypeError("fetch failed", { cause: { code } }))).toBe("retryable");
    }
    expect(classifyFailure({ code: "ETIMEDOUT", syscall: "connect" })).toBe("retryable");
  });

  it("takes what may have been done for unknown", () => {
    const doubtful: readonly unknown[] = [
      ...[408, 409, 500, 502, 503, 504, 529].map(withStatus),
      { code: "ETIMEDOUT", syscall: "read" },
      { code: "ECONNRESET", syscall: "read" },
      { code: "EPIPE", syscall: "write" },
      { code: "EHOSTUNREACH", syscall: "read" },
      { code: "UND_ERR_HEADERS_TIMEOUT" },
      { code: "UND_ERR_SOCKET" },
      new DOMException("aborted", "AbortError"),
      new DOMException("timed out", "TimeoutError"),
      new OutcomeUnknownError("lost"),
      new Error("anything"),
      withStatus(200),
      undefined,
      null,
      "text",
      { status: "404" },
    ];
    for (const error of doubtful) expect(classifyFailure(error)).toBe("unknown");
  });

  it("takes the tool's own word before anything else", () => {
    expect(classifyFailure(Object.assign(withStatus(500), { outcome: "failed" }))).toBe("failed");
    expect(classifyFailure(Object.assign(withStatus(404), { outcome: "unknown" }))).toBe("unknown");
    expect(classifyFailure(Object.assign(new Error(), { outcome: "fine" }))).toBe("unknown");
    expect(classifyFailure(new Error("wrapped", { cause: { outcome: "retryable" } }))).toBe("retryable");
  });

  it("looks along the causes, to an end also when they go in a circle", () => {
    expect(classifyFailure(new Error("a", { cause: new Error("b", { cause: withStatus(404) }) }))).toBe("failed");
    expect(classifyFailure(new OnceKvError("not_found", "no"))).toBe("failed");
    const circle: Error & { cause?: unknown } = new Error();
    circle.cause = circle;
    expect(classifyFailure(circle)).toBe("unknown");
  });

  it("knows a refused connection as fetch reports it", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const error: unknown = await fetch(`http://127.0.0.1:${port}/`).catch((thrown: unknown) => thrown);
    expect(classifyFailure(error)).toBe("retryable");
  });
});

describe("the class of a throw", () => {
  const call = { tool: "t", key: "t:k", attempt: 1 };

  it("is the given classifier's, the default's where that has no opinion, and unknown where it throws", () => {
    expect(classOf(withStatus(404), call, () => "retryable")).toBe("retryable");
    expect(classOf(withStatus(404), call, () => undefined)).toBe("failed");
    expect(classOf(withStatus(404), call, () => "nonsense" as "failed")).toBe("failed");
    const broken = (): never => {
      throw new Error("a fault of the classifier");
    };
    expect(classOf(withStatus(404), call, broken)).toBe("unknown");
  });

  it("that is unknown means no effect only before the mark, and only under refire", () => {
    const at = "2026-01-01T00:00:00.000Z";
    expect(outcomeFor("unknown", held().record)).toBe("unknown");
    expect(outcomeFor("unknown", held({ marks: true, fired_at: at }).record)).toBe("unknown");
    expect(outcomeFor("unknown", held({ marks: true }).record)).toBe("failed");
    expect(outcomeFor("unknown", held({ marks: true, policy: "review" }).record)).toBe("unknown");
    expect(outcomeFor("retryable", held({ marks: true }).record)).toBe("retryable");
  });
});
