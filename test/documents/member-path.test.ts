import { expect, test } from "vitest";
import { memberPath } from "../../src/documents/member-path.js";

test("identifiers follow a dot, other names stand in brackets", () => {
  expect(memberPath("set", "items")).toBe("set.items");
  expect(memberPath("set.items", 3)).toBe("set.items[3]");
  expect(memberPath("set", "odd name")).toBe('set["odd name"]');
  expect(memberPath("set", "")).toBe('set[""]');
  expect(memberPath("set", "3")).toBe('set["3"]');
  expect(memberPath("set", 'say "hi"')).toBe('set["say \\"hi\\""]');
});

test("at the top there is nothing to follow", () => {
  expect(memberPath("", "items")).toBe("items");
  expect(memberPath("", "odd name")).toBe('["odd name"]');
  expect(memberPath("", 0)).toBe("[0]");
});

test("a very long name is cut", () => {
  const path = memberPath("set", "x".repeat(100_000));
  expect(path.length).toBeLessThan(200);
  expect(path).toMatch(/^set\["x+"\.\.\.\]$/);
});
