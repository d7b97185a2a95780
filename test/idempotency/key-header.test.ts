import { describe, expect, it } from "vitest";
import { readKeyHeader } from "../../src/idempotency/key-header.js";

const read = (...values: string[]) => readKeyHeader(values.flatMap((value) => ["Idempotency-KEY", value]));

describe("the header Idempotency-Key", () => {
  it("names a key, quoted or bare", () => {
    expect(read()).toBeUndefined();
    expect(readKeyHeader(["X-Key", "idempotency-key"])).toBeUndefined();
    expect(read("8e03978e-40d5")).toBe("8e03978e-40d5");
    expect(read('"8e03978e-40d5"')).toBe("8e03978e-40d5");
    expect(read('"a \\"b\\" \\\\c"')).toBe('a "b" \\c');
    expect(read("  a b,c:d/e ")).toBe("a b,c:d/e");
    expect(read("k".repeat(255))).toHaveLength(255);
    expect(read(`"${"k".repeat(255)}"`)).toHaveLength(255);
  });

  it("is refused when it is malformed", () => {
    const malformed = [
      "",
      '""',
      '"',
      '"a',
      '"a"b',
      '"a";p=1',
      '"a\\b"',
      '"a\u00fc"',
      "\u00fc",
      "a\tb",
      "k".repeat(256),
    ];
    for (const value of [...malformed, `"${"k".repeat(256)}"`]) {
      expect(() => read(value), value).toThrow(expect.objectContaining({ path: "Idempotency-Key", status: 400 }));
    }
    expect(() => read("a", "a")).toThrow(/more than once/);
  });
});
