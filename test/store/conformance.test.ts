import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { openMemoryStore, openStore } from "../../src/level/index.js";
import { documentStoreConformance, ManualClock } from "../../src/testing/index.js";

describe("the memory store", () => {
  documentStoreConformance({
    test: (name, body) => test(name, body),
    open: async () => {
      const clock = new ManualClock();
      const store = await openMemoryStore({ clock });
      return { store, advance: (ms) => clock.advance(ms) };
    },
  });
});

for (const durability of ["durable", "buffered"] as const) {
  describe(`the embedded store, ${durability}`, () => {
    documentStoreConformance({
      test: (name, body) => test(name, body),
      open: async () => {
        const clock = new ManualClock();
        const dataDir = await mkdtemp(join(tmpdir(), "oncekv-conformance-"));
        const store = await openStore({ dataDir, durability, clock });
        return {
          store,
          advance: (ms) => clock.advance(ms),
          close: async () => {
            await store.close();
            await rm(dataDir, { recursive: true });
          },
        };
      },
    });
  });
}
