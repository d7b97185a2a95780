import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/base/limits.js";
import { checkJson } from "../../src/documents/json-value.js";
import { encodeError, messageOf, reviveError } from "../../src/tool-calls/error-codec.js";

function roundTrip(thrown: unknown): unknown {
  return reviveError(checkJson(encodeError(thrown), "", defaultLimits) as { [name: string]: never });
}

describe("an error", () => {
  it("comes back with its name, message, code, status, flag and causes", () => {
    const cause = Object.assign(new TypeError("no route"), { code: "EHOSTUNREACH" });
    const error = Object.assign(new RangeError("too far", { cause }), {
      status: 503,
      statusCode: 503,
      retryable: true,
    });
    expect(roundTrip(error)).toMatchObject({
      name: "RangeError",
      message: "too far",
      status: 503,
      statusCode: 503,
      retryable: true,
      cause: { name: "TypeError", message: "no route", code: "EHOSTUNREACH" },
    });
    expect(roundTrip(error)).toBeInstanceOf(Error);
    expect(String(roundTrip(error))).toBe("RangeError: too far");
    expect(Object.keys(roundTrip(new TypeError("x")) as object)).toEqual([]);
  });

  it("of another realm, or what only looks like one, counts as one", () => {
    expect(roundTrip({ message: "as good as", code: 7 })).toMatchObject({ message: "as good as", code: 7 });
    expect(roundTrip(new DOMException("aborted", "AbortError"))).toMatchObject({ name: "AbortError" });
  });

  it("keeps its size: long texts are cut, long chains and circles of causes end", () => {
    const circle: Error & { cause?: unknown } = new Error("x".repeat(100_000));
    circle.cause = circle;
    const text = JSON.stringify(encodeError(circle));
    expect(text.length).toBeLessThan(25_000);
    expect(text.match(/"cause"/g)).toHaveLength(4);
  });

  it("is stored also when reading it throws or its text is half a character", () => {
    const hostile = Object.create(Error.prototype, {
      message: {
        get: () => {
          throw new Error("no");
        },
      },
      name: { value: 7 },
      cause: {
        get: () => {
          throw new Error("no");
        },
      },
    }) as Error;
    expect(roundTrip(hostile)).toMatchObject({ name: "Error", message: "" });
    expect(roundTrip(new Error("half \ud800."))).toMatchObject({ message: "half \ufffd." });
    expect(roundTrip(new Error(`${"x".repeat(4092)}\u{1F600}\u{1F600}`))).toBeInstanceOf(Error);
  });
});

describe("a thrown value that is no error", () => {
  it.each([[undefined], [null], [0], [""], ["text"], [false], [{ a: [1] }], [[1]]])(
    "comes back as it was: %j",
    (value) => {
      expect(roundTrip(value)).toEqual(value);
    },
  );

  it("becomes an error that says what it was, if it is not JSON or is large", () => {
    for (const value of [1n, Symbol("s"), () => 1, new Map(), Number.NaN, "x".repeat(100_000)]) {
      expect(roundTrip(value)).toBeInstanceOf(Error);
    }
    expect(roundTrip(10n)).toMatchObject({ name: "bigint", message: "10" });
  });

  it("has a text for messages", () => {
    expect(messageOf(encodeError(new Error("m")))).toBe("m");
    expect(messageOf(encodeError(new TypeError()))).toBe("TypeError");
    expect(messageOf(encodeError("text"))).toBe('"text"');
    expect(messageOf(encodeError(undefined))).toBe("undefined");
  });
});
