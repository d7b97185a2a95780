import { describe } from "vitest";
import { openMemoryStore } from "../../src/level/index.js";
import { blogCodeSuite } from "./blog-code-suite.js";

describe("the code of the page on idempotent tool calls, over the embedded store,", () => {
  blogCodeSuite(async () => {
    const store = await openMemoryStore();
    return { store, close: () => store.close() };
  });
});
