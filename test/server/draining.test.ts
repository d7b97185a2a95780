import { connect } from "node:net";
import { expect, test } from "vitest";
import type { EmbeddedStore } from "../../src/level/index.js";
import { EventReader } from "./events.js";
import { Gate, until } from "./gate.js";
import { oneConnection, RawConnection } from "./http.js";
import { startServer, type TestServer, withMethods } from "./test-server.js";

const note = "/v1/documents/note/n-1";

/** A server whose puts wait at a gate, as they do while a disk is slow. */
async function startSlowServer(gate: Gate): Promise<TestServer & { waiting: () => number }> {
  let waiting = 0;
  const slow = (store: EmbeddedStore) =>
    withMethods(store, {
      put: async (write) => {
        waiting += 1;
        await gate.opened;
        return store.put(write);
      },
    });
  return { ...(await startServer({ wrap: slow })), waiting: () => waiting };
}

test("puts in flight at close finish and are answered, and the connections close after them", async () => {
  const gate = new Gate();
  const { request, app, store, waiting } = await startSlowServer(gate);
  const puts = Array.from({ length: 50 }, (_, n) =>
    request("PUT", `/v1/documents/note/${n}`, { body: { set: { n } } }),
  );
  await until(() => waiting() === 50);
  const closed = app.close();
  await until(() => !app.server.listening);
  gate.open();
  for (const answer of await Promise.all(puts)) {
    expect([answer.status, answer.headers.connection]).toEqual([201, "close"]);
  }
  await closed;
  for (let n = 0; n < 50; n++) expect(await store.get("note", String(n))).toEqual({ n });
});

test("at close waits are answered early and streams end", async () => {
  const { request, app, port, store } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: {} });
  const known = request("GET", note, { headers: { "if-none-match": '"1"', prefer: "wait=300" } });
  const unknown = request("GET", note, { headers: { prefer: "wait=300" } });
  const stream = await EventReader.open(port, "/v1/changes");
  await stream.next();
  await until(() => store.stats().waiters === 2);
  await app.close();
  expect([(await known).status, (await known).headers.etag]).toEqual([304, '"1"']);
  expect([(await unknown).status, (await unknown).headers.etag]).toEqual([304, undefined]);
  expect(await stream.next()).toBeUndefined();
  expect(store.stats()).toMatchObject({ waiters: 0, watchers: 0 });
});

test("a request that arrives on a living connection while the server drains is 503, and the connection closes", async () => {
  const gate = new Gate();
  const { app, port, waiting, request, store } = await startSlowServer(gate);
  const held = request("PUT", note, { body: { set: {} } });
  await until(() => waiting() === 1);
  const late = new RawConnection(port);
  late.write('DELETE /v1/documents/note/n-1 HTTP/1.1\r\nhost: x\r\nidempotency-key: "k"\r\n');
  const ready = new RawConnection(port);
  ready.write("GET /readyz HTTP/1.1\r\nhost: x\r\n");
  const alive = new RawConnection(port);
  alive.write("GET /healthz HTTP/1.1\r\nhost: x\r\n");
  await until(() => late.socket.bytesWritten > 0 && ready.socket.bytesWritten > 0 && alive.socket.bytesWritten > 0);
  // Another request goes through the same loop, so that the server has read what came before it.
  await request("GET", "/healthz");
  const closed = app.close();
  await until(() => !app.server.listening);
  for (const connection of [late, ready, alive]) connection.write("\r\n");
  const refusal = await late.untilClosed();
  expect(refusal).toMatch(/^HTTP\/1.1 503 /);
  expect(refusal).toMatch(/connection: close/i);
  expect(refusal).toMatch(/retry-after: 1/i);
  expect(refusal).toContain('"code":"store_closed"');
  expect(await ready.untilClosed()).toMatch(/^HTTP\/1.1 503 /);
  expect(await alive.untilClosed()).toMatch(/^HTTP\/1.1 200 /);
  gate.open();
  expect((await held).status).toBe(201);
  await closed;
  expect(await store.get("note", "n-1")).toEqual({});
});

test("closing does not wait for idle kept-alive connections, nor for those that never sent anything", async () => {
  const { request, app, port } = await startServer();
  const agent = oneConnection();
  await request("GET", "/healthz", { agent });
  const silent = connect(port, "127.0.0.1");
  await new Promise((resolve) => silent.once("connect", resolve));
  await request("GET", "/healthz", { agent });
  const begin = performance.now();
  await app.close();
  expect(performance.now() - begin).toBeLessThan(2000);
  silent.destroy();
});

test("a connection whose request finishes during the close ends with its answer", async () => {
  const gate = new Gate();
  const { request, app, waiting } = await startSlowServer(gate);
  const agent = oneConnection();
  const put = request("PUT", note, { body: { set: {} }, agent });
  await until(() => waiting() === 1);
  const closed = app.close();
  await until(() => !app.server.listening);
  const begin = performance.now();
  gate.open();
  expect((await put).headers.connection).toBe("close");
  await closed;
  expect(performance.now() - begin).toBeLessThan(2000);
});

test("what has not finished at the deadline is cut", async () => {
  const gate = new Gate();
  const { request, app, clock, waiting } = await startSlowServer(gate);
  const put = request("PUT", note, { body: { set: {} } });
  const outcome = put.then(
    () => "answered",
    () => "cut",
  );
  await until(() => waiting() === 1);
  const closed = app.close();
  await until(() => !app.server.listening);
  clock.advance(9_999);
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(1);
  expect(await outcome).toBe("cut");
  await closed;
  gate.open();
});

test("under load every write that was answered with success is there, and every other was refused or cut unsent", async () => {
  const { request, app, store } = await startServer();
  const acknowledged: string[] = [];
  const refused: string[] = [];
  const others: number[] = [];
  let stop = false;
  const worker = async (name: number): Promise<void> => {
    const agent = oneConnection();
    for (let n = 0; !stop; n++) {
      const id = `${name}-${n}`;
      try {
        const { status } = await request("PUT", `/v1/documents/note/${id}`, { body: { set: { id } }, agent });
        if (status === 201) {
          acknowledged.push(id);
          continue;
        }
        if (status !== 503) others.push(status);
      } catch {
        // Its connection was closed before the server had read anything of it.
      }
      refused.push(id);
      stop = true;
    }
  };
  const workers = Array.from({ length: 8 }, (_, name) => worker(name));
  await until(() => acknowledged.length > 100);
  await app.close();
  stop = true;
  await Promise.all(workers);
  expect(others).toEqual([]);
  for (const id of acknowledged) expect(await store.get("note", id)).toEqual({ id });
  // What was cut or refused was not begun: nothing was carried out without its answer.
  expect(refused.length).toBeGreaterThan(0);
  for (const id of refused) expect(await store.get("note", id), id).toBeUndefined();
});

test("closing twice is closing once", async () => {
  const { app } = await startServer();
  await Promise.all([app.close(), app.close()]);
  expect(app.server.listening).toBe(false);
});
