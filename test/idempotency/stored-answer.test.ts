import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import { classifyAnswer, storedAnswer } from "../../src/idempotency/index.js";
import { decodeAnswer, encodeAnswer } from "../../src/idempotency/stored-answer.js";

describe("a stored answer", () => {
  it("comes back byte by byte, whatever the bytes", () => {
    const header = fastCheck.tuple(fastCheck.string(), fastCheck.string());
    fastCheck.assert(
      fastCheck.property(
        fastCheck.integer({ min: 200, max: 599 }),
        fastCheck.array(header),
        fastCheck.oneof(
          fastCheck.uint8Array(),
          fastCheck.string({ unit: "binary" }).map((text) => Buffer.from(text)),
        ),
        (status, headers, bytes) => {
          const answer = { status, headers, body: Buffer.from(bytes) };
          const stored: unknown = JSON.parse(JSON.stringify(encodeAnswer(answer)));
          expect(decodeAnswer(stored)).toEqual(answer);
        },
      ),
    );
  });

  it("is text where it can be, so that people can read the record", () => {
    const head = { status: 200, headers: [] };
    expect(encodeAnswer({ ...head, body: Buffer.from("gr\u00fcn") })).toMatchObject({ body: "gr\u00fcn" });
    expect(encodeAnswer({ ...head, body: Buffer.from([0xff]) })).toMatchObject({
      body: "/w==",
      body_encoding: "base64",
    });
    expect(decodeAnswer(encodeAnswer({ ...head, body: Buffer.from("\ufeffa") })).body).toHaveLength(4);
  });

  it("a result that is none is refused", () => {
    const good = storedAnswer({ status: 200, body: "a" });
    const bad: unknown[] = [
      undefined,
      "text",
      { ...good, format: 2 },
      { ...good, status: 100 },
      { ...good, headers: [["a"]] },
      { ...good, body: 1 },
      { ...good, body_encoding: "hex" },
    ];
    for (const stored of bad) expect(() => decodeAnswer(stored)).toThrow(/no answer to an HTTP request/);
  });

  it("somebody may state a success or a refusal, and nothing else", () => {
    expect(decodeAnswer(storedAnswer({ status: 404 }))).toEqual({ status: 404, headers: [], body: Buffer.alloc(0) });
    expect(() => storedAnswer({ status: 500 })).toThrow(/status/);
    expect(() => storedAnswer({ status: 200, body: 7 as never })).toThrow(/body/);
  });
});

describe("what an answer means", () => {
  it.each([
    ["stored", [200, 201, 204, 303, 400, 404, 409, 422]],
    ["released", [425, 429]],
    ["unknown", [408, 500, 502, 503, 504]],
  ])("is %s", (meaning, statuses) => {
    for (const status of statuses) expect(classifyAnswer({ status, headers: [] })).toBe(meaning);
  });
});
