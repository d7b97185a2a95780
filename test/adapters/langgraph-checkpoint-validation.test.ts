import { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, type RunnerTask } from "vitest";
import { checkpointSaver } from "../../client/adapters/langgraph-checkpoint/index.js";
import { createClient } from "../../client/index.js";
import { serve } from "../../server/index.js";
import { openMemoryStore } from "../../src/level/index.js";

// The framework's own suite for checkpoint savers, all of it, and its opt-in part too. It takes vitest's functions for global.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });

/** Its tests for one saver; a newer version of the suite may have more. */
const testsOfSuite = 726;

/** A store for every saver, and what has to be closed after it. */
const closings = new Map<object, () => Promise<void>>();

const savers = {
  "oncekv embedded": async () => {
    const store = await openMemoryStore();
    const saver = checkpointSaver(BaseCheckpointSaver, store);
    closings.set(saver, () => store.close());
    return saver;
  },
  "oncekv over HTTP": async () => {
    const store = await openMemoryStore();
    const server = await serve({ store, port: 0, logLevel: "silent" });
    const client = createClient({ url: server.url });
    const saver = checkpointSaver(BaseCheckpointSaver, client);
    closings.set(saver, async () => {
      await client.close();
      await server.close();
      await store.close();
    });
    return saver;
  },
};

for (const [checkpointerName, createCheckpointer] of Object.entries(savers)) {
  describe(checkpointerName, () => {
    const initializer = {
      checkpointerName,
      createCheckpointer,
      destroyCheckpointer: async (saver: object) => {
        await closings.get(saver)?.();
        closings.delete(saver);
      },
    };
    validate(initializer);
    deltaChannelHistoryTests(initializer);
    it("has run, all of it", ({ task }) => {
      const states = testsIn(task.suite).filter((test) => test !== task);
      const others = states.filter(({ result }) => result?.state !== "pass");
      expect(others.map(({ name, mode }) => `${mode} ${name}`)).toEqual([]);
      expect(states).toHaveLength(testsOfSuite);
      expect(closings.size).toBe(0);
    });
  });
}

/** All tests of a suite, those that were skipped too. */
function testsIn(task: RunnerTask | undefined): readonly RunnerTask[] {
  if (task === undefined) return [];
  return task.type === "test" ? [task] : task.tasks.flatMap(testsIn);
}
