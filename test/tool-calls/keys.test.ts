import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/base/limits.js";
import type { JsonValue } from "../../src/documents/contract.js";
import { checkJson } from "../../src/documents/json-value.js";
import { fingerprintOf, headerKeyOf, type KeyParts, keyOf, prefixOf } from "../../src/tool-calls/keys.js";

function key(parts: Partial<KeyParts>): string {
  return keyOf(
    { tool: "send_email", scope: undefined, given: undefined, fingerprint: "f".repeat(64), ...parts },
    defaultLimits,
  );
}

describe("the fingerprint", () => {
  it("is the same for equal arguments, whatever the order of their properties", () => {
    const pairs: readonly [JsonValue, JsonValue][] = [
      [
        { a: 1, b: { c: 2, d: 3 } },
        { b: { d: 3, c: 2 }, a: 1 },
      ],
      [
        { "10": 1, "9": 2 },
        { "9": 2, "10": 1 },
      ],
      [
        { "\u{1F600}": 1, "\uFFFD": 2 },
        { "\uFFFD": 2, "\u{1F600}": 1 },
      ],
      [
        { a: 1.0, b: -0 },
        { a: 1, b: 0 },
      ],
    ];
    for (const [a, b] of pairs) expect(fingerprintOf(a)).toBe(fingerprintOf(b));
  });

  it("differs for arguments that differ", () => {
    const different: JsonValue[] = [
      null,
      0,
      "0",
      "",
      false,
      [],
      {},
      [1, 2],
      [2, 1],
      { a: null },
      { a: 1 },
      { a: "1" },
      "\u00e9",
      "e\u0301",
    ];
    expect(new Set(different.map(fingerprintOf)).size).toBe(different.length);
  });

  it("is what it was in every earlier version, so that an upgrade finds the records of the one before", () => {
    expect(fingerprintOf({ order: 12345, user: "U" })).toBe(
      "123014340eaeebb1dd4d73b00f759b223b0fd594bd13fedd5a7bcdfabb24d647",
    );
    expect(key({ scope: "turn 7", tool: "send_email" })).toBe(`turn 7/send_email:${"f".repeat(64)}`);
    expect(key({ scope: "a/b", tool: "x:y%", given: "k/1:%" })).toBe("a%2Fb/x%3Ay%25:k/1:%");
  });

  it("is refused for what JSON cannot say, instead of falling together with something else", () => {
    const notJson: readonly unknown[] = [
      new Date(0),
      new Set([1]),
      new Map(),
      Number.NaN,
      Infinity,
      1n,
      Buffer.from("a"),
      Symbol("s"),
    ];
    for (const value of notJson) expect(() => checkJson({ value }, "args", defaultLimits)).toThrow(/args/);
  });
});

describe("the key", () => {
  it("is derived from tool and arguments, or given within tool and scope", () => {
    expect(key({})).toBe(`send_email:${"f".repeat(64)}`);
    expect(key({ given: "order-12345:user-U" })).toBe("send_email:order-12345:user-U");
    expect(key({ given: "order-12345", scope: "turn-7" })).toBe("turn-7/send_email:order-12345");
  });

  it("that is whole already stays as it is", () => {
    for (const parts of [{}, { given: "k" }, { given: "k", scope: "s" }, { scope: "s" }, { given: "f".repeat(64) }]) {
      const whole = key(parts);
      expect(key({ ...parts, given: whole })).toBe(whole);
    }
  });

  it("that is given never meets a derived one of the same tool", () => {
    expect(key({ given: "f".repeat(64) })).not.toBe(key({}));
    expect(key({ given: `key:${"f".repeat(64)}` })).not.toBe(key({ given: "f".repeat(64) }));
  });

  it("is another one for any two different calls", () => {
    const part = fc.stringMatching(/^[a:%/k]{1,6}$/);
    const call = fc.record({
      tool: part,
      scope: fc.option(part, { nil: undefined }),
      given: fc.option(fc.oneof(part, fc.constant("f".repeat(64))), { nil: undefined }),
    });
    fc.assert(
      fc.property(call, call, (a, b) => {
        const same = a.tool === b.tool && a.scope === b.scope && a.given === b.given;
        // A given key may be the whole key of another one: then they are the same call on purpose.
        const whole =
          a.given !== undefined && b.given !== undefined && (a.given.endsWith(b.given) || b.given.endsWith(a.given));
        fc.pre(same || !whole);
        expect(key(a) === key(b)).toBe(same);
      }),
      { numRuns: 2000 },
    );
  });

  it("begins with the prefix of its tool and scope, by which records are listed", () => {
    expect(key({ scope: "s" }).startsWith(prefixOf(undefined, "s", defaultLimits))).toBe(true);
    expect(key({ scope: "s" }).startsWith(prefixOf("send_email", "s", defaultLimits))).toBe(true);
    expect(key({}).startsWith(prefixOf("send_email", undefined, defaultLimits))).toBe(true);
    expect(key({ scope: "s" }).startsWith(prefixOf("send_email", undefined, defaultLimits))).toBe(false);
    expect(prefixOf(undefined, undefined, defaultLimits)).toBe("");
  });

  it("may have as many bytes as an id, and not one more", () => {
    const room = 1024 - "send_email:".length;
    expect(key({ given: "k".repeat(room) })).toHaveLength(1024);
    expect(() => key({ given: "k".repeat(room + 1) })).toThrow(/key.*1024 bytes/);
    expect(() => key({ given: "\u00e9".repeat(room / 2 + 1) })).toThrow(/1024 bytes/);
  });

  it("goes into a header as it is, or as a hash where a header or a service would not take it", () => {
    for (const plain of ["send_email:order-12345", "turn 7/ship:1", "k".repeat(255)])
      expect(headerKeyOf(plain)).toBe(plain);
    const hashed = ["k".repeat(256), "t:\u00e9", "t:\u{1F600}", "t:\n", "t: ", "t:\u007f"].map(headerKeyOf);
    expect(new Set(hashed).size).toBe(hashed.length);
    for (const value of hashed) expect(value).toMatch(/^sha256-[0-9a-f]{64}$/);
    for (const value of hashed) expect(new Headers({ "Idempotency-Key": value }).get("idempotency-key")).toBe(value);
  });

  it("has no empty part and no half character", () => {
    for (const bad of [{ tool: "" }, { scope: "" }, { given: "" }, { given: "\ud800" }, { scope: "\udc00" }]) {
      expect(() => key(bad)).toThrow(/tool|scope|key/);
    }
  });
});
