import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";

const root = new URL("../../", import.meta.url);
const page = await readFile(new URL("docs/guarantees.md", root), "utf8");
const rows = [...page.matchAll(/^\| (.+) \| `((?:test|src)\/[^`]+)`: (.*) \|$/gm)];

describe("docs/guarantees.md", () => {
  it("names a test for every promise", () => {
    const promises = page.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| promise "));
    expect(rows.length).toBe(promises.length);
    expect(rows.length).toBeGreaterThan(30);
  });

  it.each(rows.map(([, promise, file, title]) => ({ promise, file, title })))("$promise", async ({ file, title }) => {
    const source = await readFile(new URL(file ?? "", root), "utf8");
    expect(title).not.toBe("");
    expect(source).toContain(`"${title}`);
  });
});
