import { afterAll, beforeAll, describe, test } from "vitest";
import { createClient } from "../../client/index.js";
import { type RunningServer, serve } from "../../server/index.js";
import { type EmbeddedStore, openMemoryStore } from "../../src/level/index.js";
import { documentStoreConformance, ManualClock } from "../../src/testing/index.js";

describe("the client, over one server", () => {
  const clock = new ManualClock();
  let store: EmbeddedStore;
  let server: RunningServer;

  beforeAll(async () => {
    store = await openMemoryStore({ clock });
    server = await serve({ store, port: 0, logLevel: "silent", processMetrics: false });
  });

  afterAll(async () => {
    await server.close();
    await store.close();
  });

  documentStoreConformance({
    test: (name, body) => test(name, body),
    open: () => ({ store: createClient({ url: server.url }), advance: (ms) => clock.advance(ms) }),
  });
});
