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
