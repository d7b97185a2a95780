import keyvTestSuite, { keyvIteratorTests } from "@keyv/test-suite";
import { Keyv } from "keyv";
import * as vitest from "vitest";
import { afterAll, beforeAll, describe } from "vitest";
import { type KeyvStore, keyvStore } from "../../client/adapters/keyv/index.js";
import { type Client, createClient } from "../../client/index.js";
import { type RunningServer, serve } from "../../server/index.js";
import { type EmbeddedStore, openMemoryStore } from "../../src/level/index.js";

// Everything that the package exports for storage adapters: the suite (api, values, namespaces) and the iterator.

describe("Keyv's own suite, over the embedded store", () => {
  let store: EmbeddedStore;

  beforeAll(async () => {
    store = await openMemoryStore();
  });

  afterAll(() => store.close());

  const open = (): KeyvStore => keyvStore(store);
  keyvTestSuite(vitest, Keyv, open);
  keyvIteratorTests(vitest, Keyv, open);
});

describe("Keyv's own suite, over HTTP", () => {
  let store: EmbeddedStore;
  let server: RunningServer;
  let client: Client;

  beforeAll(async () => {
    store = await openMemoryStore();
    server = await serve({ store, port: 0, logLevel: "silent", processMetrics: false });
    client = createClient({ url: server.url });
  });

  afterAll(async () => {
    await client.close();
    await server.close();
    await store.close();
  });

  const open = (): KeyvStore => keyvStore(client);
  keyvTestSuite(vitest, Keyv, open);
  keyvIteratorTests(vitest, Keyv, open);
});
