import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import {
  adviceByCode,
  failureText,
  nothingBegun,
  nothingBegunForGood,
  replayNote,
} from "../../src/tools/model-text.js";

const root = new URL("../../", import.meta.url);
const index = await readFile(new URL("docs/adapters/README.md", root), "utf8");
const entries = await readdir(new URL("client/adapters", root), { withFileTypes: true });
const adapters = [...entries.filter((entry) => entry.isDirectory()).map(({ name }) => name), "guard"];

/** Parts of the sentences for models, by which one that somebody wrote again would be known. */
const phrases =
  /Do not (?:call|repeat)|call did nothing|Nothing was done again|may be made (?:again|later)|had its effect is not known/;

const comments = /\/\*.*?\*\/|\/\/ .*?$/gms;

const sources: readonly string[] = (
  await Promise.all(
    ["client/adapters/", "cli/guard/"].map(async (folder) =>
      (
        await readdir(new URL(folder, root), { recursive: true })
      )
        .filter((name) => name.endsWith(".ts"))
        .map((name) => `${folder}${name}`),
    ),
  )
).flat();

describe("what a model reads", () => {
  it("stands in one place: no adapter says to it in words of its own what was done and what not to do", async () => {
    expect(sources.length).toBeGreaterThan(30);
    const texts = await readFile(new URL("src/tools/model-text.ts", root), "utf8");
    expect(texts).toMatch(phrases);
    for (const source of sources) {
      const text = await readFile(new URL(source, root), "utf8");
      expect(text.replaceAll(comments, ""), source).not.toMatch(phrases);
    }
  });
});

describe("docs/adapters", () => {
  it("quotes what the model reads, word for word", () => {
    const sentences = [
      ...Object.values(adviceByCode),
      nothingBegun,
      nothingBegunForGood,
      replayNote("...", undefined),
      failureText("retryable", "..."),
      failureText("failed", "...").split("...")[0] ?? "",
    ];
    for (const sentence of sentences) expect(index).toContain(sentence.trim());
  });

  it.each(adapters)("has a page and an example for %s, and names it in the index", async (adapter) => {
    expect(index).toContain(`(${adapter}.md)`);
    expect(await readFile(new URL(`docs/adapters/${adapter}.md`, root), "utf8")).toContain(
      `examples/adapters/${adapter}.ts`,
    );
    expect(await readFile(new URL(`examples/adapters/${adapter}.ts`, root), "utf8")).toContain("oncekv");
  });
});
