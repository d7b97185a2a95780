import { expect, it } from "vitest";
import { openMemoryStore } from "../../src/index.js";

it("a caller that writes in a tight loop lets the event loop go on, also where a write takes no time", async () => {
  const store = await openMemoryStore();
  let isOver = false;
  setImmediate(() => setImmediate(() => (isOver = true)));
  let writes = 0;
  while (!isOver && writes < 10_000) await store.put({ shape: "note", id: "a", set: { writes: writes++ } });
  expect(isOver).toBe(true);
  expect(writes).toBeLessThan(1000);
  await store.close();
});
