import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { trials } from "../torture/trials.js";

const root = new URL("../../", import.meta.url);
const page = await readFile(new URL("docs/guarantees.md", root), "utf8");
const promised = page.slice(page.indexOf("## Documents"), page.indexOf("## What is not promised"));
const lines = promised.split("\n");
const rows = [...promised.matchAll(/^\| (.+) \| `((?:test|src)\/[^`]+)`: (.*) \| (.+) \|$/gm)].map(
  ([, promise = "", file = "", title = "", tried = ""]) => ({ promise, file, title, tried }),
);

describe("docs/guarantees.md", () => {
  it("names for every promise a test, and what was tried how often", () => {
    const given = lines.filter((line) => line.startsWith("|") && !/^\| promise |^\|-/.test(line));
    expect(rows.length).toBe(given.length);
    expect(rows.length).toBeGreaterThan(90);
    for (const line of given) {
      const cells = line.split(" | ");
      expect(cells.length, line).toBe(3);
      for (const cell of cells) expect(cell.replaceAll("|", "").trim(), line).not.toBe("");
    }
  });

  it("has no row that is cut off from its table", () => {
    for (const [at, line] of lines.entries()) {
      if (line.startsWith("|") && !(lines[at - 1] ?? "").startsWith("|")) expect(line).toMatch(/^\| promise \|/);
    }
  });

  it("names every trial of the long run, and none that is not there", () => {
    const named = [...promised.matchAll(/--only (?:"([^"]+)"|([\w-]+))/g)].map(([, quoted, bare]) => quoted ?? bare);
    expect(new Set(named)).toEqual(new Set(trials.map(({ name }) => name)));
  });

  it.each(rows)("$promise", async ({ file, title }) => {
    const source = await readFile(new URL(file, root), "utf8");
    expect(title).not.toBe("");
    expect(source).toContain(`"${title}`);
  });
});
