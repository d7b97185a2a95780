import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, createClient, StoreClosedError } from "../../client/index.js";
import { createServer, type RunningServer, serve } from "../../server/index.js";
import { type EmbeddedStore, openMemoryStore } from "../../src/level/index.js";
import { type CuttingProxy, startCuttingProxy } from "./cutting-proxy.js";

let store: EmbeddedStore;
let server: RunningServer;
let proxy: CuttingProxy;
/** Through the proxy. */
let client: Client;
let ends: (() => Promise<void>)[];

beforeEach(async () => {
  store = await openMemoryStore();
  server = await serve({ store, port: 0, logLevel: "silent" });
  proxy = await startCuttingProxy(server.url);
  client = createClient({ url: proxy.url });
  ends = [];
});

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  await client.close();
  await proxy.close();
  await server.close();
  await store.close();
});

describe("a lost answer to a write that was applied is told as success", () => {
  test("a conditional put", async () => {
    const { revision } = await client.put({ shape: "note", id: "a", set: { n: 1 } });
    proxy.cutNextAnswer();
    const result = await client.put({ shape: "note", id: "a", set: { n: 2 }, if_match: { revision } });
    expect(result).toMatchObject({ created: false, replayed: true });
    expect(await store.getDocument("note", "a")).toMatchObject({ fields: { n: 2 }, revision: result.revision });
  });

  test("a creation", async () => {
    await client.get("note", "a");
    proxy.cutNextAnswer();
    const result = await client.put({ shape: "note", id: "a", set: { n: 1 }, if_match: { exists: false } });
    expect(result).toMatchObject({ created: true, replayed: true });
    expect(store.revision).toBe(result.revision);
  });

  test("a patch, whose document comes with the answer", async () => {
    await client.put({ shape: "note", id: "a", set: { n: 1 } });
    proxy.cutNextAnswer();
    const result = await client.patch({
      shape: "note",
      id: "a",
      merge: { n: 2 },
      if_match: { fields: { n: 1 } },
      return: "document",
    });
    expect(result).toMatchObject({ replayed: true, document: { fields: { n: 2 } } });
  });

  test.each([{ exists: true }, { fields: { n: 1 } }])("a delete if %j", async (if_match) => {
    await client.put({ shape: "note", id: "a", set: { n: 1 } });
    proxy.cutNextAnswer();
    const result = await client.delete({ shape: "note", id: "a", if_match, return: "document" });
    expect(result).toMatchObject({ replayed: true, document: { fields: { n: 1 } } });
    expect(await store.get("note", "a")).toBeUndefined();
  });

  test("a batch", async () => {
    await client.get("note", "a");
    proxy.cutNextAnswer();
    const result = await client.batch([
      { op: "put", shape: "note", id: "a", set: {}, if_match: { exists: false } },
      { op: "put", shape: "note", id: "b", set: {}, if_match: { exists: false } },
    ]);
    expect(result).toMatchObject({ replayed: true, results: [{ created: true }, { created: true }] });
    expect(store.revision).toBe(result.revision);
  });

  test("and a condition that did not hold is still told as that", async () => {
    await client.put({ shape: "note", id: "a", set: { n: 1 } });
    proxy.cutNextAnswer();
    const write = client.put({ shape: "note", id: "a", set: { n: 2 }, if_match: { exists: false } });
    await expect(write).rejects.toMatchObject({
      status: 412,
      failures: [{ index: 0, shape: "note", id: "a", expected: { exists: false }, current: { fields: { n: 1 } } }],
    });
  });
});

describe("ids of any kind are reached, and none is taken for another", () => {
  test("by put, get, patch, list, wait, watch and delete", async () => {
    const ids = ["a/b", "a%2Fb", "50%", "a+b", "a b", ".", "..", "...", "a\u0000b", "trailing ", "?#&=", "\u{1F600}"];
    ids.push("\u00e9", "e\u0301", "\u20ac".repeat(60), "x".repeat(1024), "\u{1F600}".repeat(256), "con", '"', "\\");
    for (const [n, id] of ids.entries())
      await client.put({ shape: "note", id, set: { n }, if_match: { exists: false } });
    for (const [n, id] of ids.entries()) {
      expect(await client.get("note", id)).toEqual({ n });
      expect(await store.get("note", id)).toEqual({ n });
      expect((await client.list("note", { prefix: id, limit: 1 })).documents[0]?.id).toBe(id);
      const watch = client.watch({ shape: "note", id });
      const waited = client.waitFor("note", id);
      await client.patch({ shape: "note", id, merge: { seen: true } });
      expect(await waited).toMatchObject({ changed: true, document: { id, fields: { n, seen: true } } });
      for await (const { changes } of watch) {
        expect(changes).toMatchObject([{ id }]);
        break;
      }
      await client.delete({ shape: "note", id, if_match: { exists: true } });
    }
    expect((await client.list("note")).documents).toEqual([]);
  });

  test("and what the store refuses, the client refuses with the same error", async () => {
    for (const id of ["", "x".repeat(1025), "\u{1F600}".repeat(257), "\ud800"]) {
      const errors = await Promise.all([store, client].map((one) => errorOf(one.get("note", id))));
      expect(errors[0]).toMatchObject({ code: "invalid_request", path: "id" });
      expect(errors[1]).toEqual(errors[0]);
    }
  });
});

describe("bodies around the limit", () => {
  test("are stored or refused, once, and the connection lives on", async () => {
    const put = (length: number) => client.put({ shape: "note", id: "a", set: { text: "x".repeat(length) } });
    await put(1024 * 1024 - 100);
    for (const length of [1024 * 1024 + 1, 5 * 1024 * 1024, 20 * 1024 * 1024]) {
      await expect(put(length)).rejects.toMatchObject({ code: "too_large", status: 413 });
    }
    expect(await client.get("note", "a")).toMatchObject({ text: expect.stringMatching(/^x{1048476}$/) });
    expect(proxy.connections).toBeLessThanOrEqual(2);
  });
});

describe("a connection that the server closes as it is used again", () => {
  test("doubles nothing and shows no raw error", async () => {
    const app = createServer({ store });
    app.server.keepAliveTimeout = 100;
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    const own = createClient({ url });
    ends.push(
      () => app.close(),
      () => own.close(),
    );
    for (let n = 0; n < 20; n++) {
      await own.put({ shape: "count", id: `${n}`, set: {}, if_match: { exists: false } });
      await sleep(95 + (n % 11));
    }
    expect(store.revision).toBe(20);
  });
});

describe("a watcher whose connection is cut again and again", () => {
  test("sees every commit once, from its first read on", async () => {
    const cuts = 20;
    await client.put({ shape: "note", id: "before", set: {} });
    const { revision } = await client.list("note");
    const watch = client.watch({ shape: "note", since: revision });
    const written: number[] = [];
    const write = async (): Promise<void> => {
      for (let n = 0; n < 10; n++) written.push((await store.put({ shape: "note", id: `${n}`, set: { n } })).revision);
    };
    const writing = (async () => {
      for (let cut = 0; cut < cuts; cut++) {
        await write();
        await until(() => store.stats().watchers === 1);
        await write();
        proxy.cutAll();
        await until(() => store.stats().watchers === 0);
      }
    })();
    const seen: number[] = [];
    for await (const commit of watch) {
      expect(commit.changes.length).toBeLessThanOrEqual(1);
      if (commit.changes.length > 0) seen.push(commit.revision);
      if (seen.length === cuts * 20) break;
    }
    await writing;
    expect(seen).toEqual(written);
    expect(proxy.connections).toBeGreaterThan(cuts);
  });

  test("that asks for what lies ahead is told so", async () => {
    const next = client.watch({ since: 99 })[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject({ code: "revision_unknown", status: 400 });
  });
});

describe("waiting and watching over HTTP", () => {
  test("a wait wakes at the change, and tells of the end of its time", async () => {
    await client.put({ shape: "note", id: "a", set: { n: 1 } });
    const waited = client.waitFor("note", "a");
    const { revision } = await client.put({ shape: "note", id: "a", set: { n: 2 } });
    expect(await waited).toMatchObject({ changed: true, document: { revision } });
    expect(await client.waitFor("note", "a", { timeout: 0.05 })).toMatchObject({
      changed: false,
      document: { revision },
    });
    expect(await client.waitFor("note", "b", { timeout: 0.05 })).toEqual({ changed: false, document: null });
  });

  test("a watch begins at the call, though another connection is open and fast", async () => {
    for (let round = 0; round < 20; round++) {
      const watch = client.watch({ shape: "note" });
      const { revision } = await client.put({ shape: "note", id: "a", set: { round } });
      const first = await watch[Symbol.asyncIterator]().next();
      expect(first.value).toMatchObject({ revision });
      await watch[Symbol.asyncIterator]().return?.();
    }
  });

  test("both survive lost connections and a restart of the server", async () => {
    const watch = client.watch()[Symbol.asyncIterator]();
    const waited = client.waitFor("note", "a");
    await client.get("note", "a");
    proxy.cutAll();
    await until(() => store.stats().watchers === 1 && store.stats().waiters === 1);
    await server.close();
    server = await serve({ store, port: 0, logLevel: "silent" });
    await sleep(100);
    proxy.target = server.url;
    await client.put({ shape: "note", id: "a", set: { n: 1 } });
    expect(await waited).toMatchObject({ changed: true, document: { fields: { n: 1 } } });
    expect((await watch.next()).value).toMatchObject({ changes: [{ id: "a" }] });
    await watch.return?.();
  });

  test("both end when the client closes", async () => {
    const pending = [client.watch()[Symbol.asyncIterator]().next(), client.waitFor("note", "a")].map(errorOf);
    await client.get("note", "a");
    await client.close();
    for (const error of await Promise.all(pending)) expect(error).toBeInstanceOf(StoreClosedError);
    await until(() => store.stats().watchers === 0 && store.stats().waiters === 0);
  });
});

function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2);
}
