import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { newToken } from "../../server/index.js";
import { serverLimits } from "../../server/limits.js";
import { OnceKvError } from "../../src/base/errors.js";
import { checkBackup, type EmbeddedStore, openStore, restore } from "../../src/level/index.js";
import { runCli } from "../cli/command-line.js";
import { problemOf, startServer, type TestServer, withMethods } from "./test-server.js";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "oncekv-test-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** More than any socket buffers, so that a reader who stops reading stops the backup. */
async function fill(store: EmbeddedStore, documents = 64): Promise<void> {
  for (let n = 0; n < documents; n++) {
    await store.put({ shape: "note", id: `${n}`, set: { n, text: "x".repeat(500_000) } });
  }
}

/** Begins to read a backup and stops after the first bytes. */
async function stalledReader({ port }: TestServer): Promise<IncomingMessage> {
  const [response] = (await once(get({ host: "127.0.0.1", port, path: "/v1/backup", agent: false }), "response")) as [
    IncomingMessage,
  ];
  response.pause();
  response.on("error", () => {});
  onTestFinished(() => void response.destroy());
  return response;
}

/** Waits for what happens within a few turns of the event loop. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await holds()); turn++) {
    if (turn > 2000) throw new Error("it does not come to pass");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a running server gives a backup that restores to what it served", async () => {
  const path = await folder();
  const { store, port, clock } = await startServer();
  for (let n = 0; n < 50; n++) await store.put({ shape: "note", id: `${n}`, set: { n }, ttl: n % 2 === 0 ? 60 : null });
  const file = join(path, "a.okv");
  const url = `http://127.0.0.1:${port}`;
  const backup = await runCli(["backup", file, "--url", url, "--json"]);
  expect(backup).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(backup.stdout)).toMatchObject({ file, documents: 50, revision: 50 });
  expect(await readdir(path)).toEqual(["a.okv"]);
  expect(await runCli(["backup", file, "--url", url])).toMatchObject({ code: 1, stdout: "" });

  await restore({ file, dataDir: join(path, "data"), clock });
  const restored = await openStore({ dataDir: join(path, "data"), clock, sweep: false });
  const [served, again] = [await store.list("note"), await restored.list("note")];
  expect(again.documents).toEqual(served.documents);
  await restored.close();
});

test("a backup needs read of all shapes, and nothing else", async () => {
  const [all, one] = [
    newToken("all", { read: ["*"], write: [] }),
    newToken("one", { read: ["note", "tool-call"], write: ["*"] }),
  ];
  const { request } = await startServer({ tokens: [all.entry, one.entry] });
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
  expect(problemOf(await request("GET", "/v1/backup"))).toMatchObject({ status: 401 });
  expect(problemOf(await request("GET", "/v1/backup", as(one.token)))).toMatchObject({ status: 403 });
  const answer = await request("GET", "/v1/backup", as(all.token));
  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toBe("application/vnd.oncekv.backup");
  expect(answer.headers["cache-control"]).toBe("no-store");
});

test("a damaged store, and one that has no backups, are answered with a problem", async () => {
  const damaged = new OnceKvError("store_damaged", "a document does not match its checksum");
  const failing = await startServer({
    wrap: (store) => Object.assign(withMethods(store, {}), { backupTo: () => Promise.reject(damaged) }),
  });
  expect(problemOf(await failing.request("GET", "/v1/backup"))).toMatchObject({ status: 503, code: "store_damaged" });
  const without = await startServer({ wrap: (store) => withMethods(store, {}) });
  expect(problemOf(await without.request("GET", "/v1/backup"))).toMatchObject({ code: "route_not_found" });
});

test("a fault on the way cuts the transfer, and the command keeps nothing of it", async () => {
  const path = await folder();
  const { port } = await startServer({
    wrap: (store) =>
      Object.assign(withMethods(store, {}), {
        backupTo: async (sink: { write(bytes: Buffer): Promise<void> }) => {
          await sink.write(Buffer.from('oncekv backup 1\n{"revision":1,"taken_at":"2026-01-01T00:00:00.000Z"}\n'));
          throw new OnceKvError("store_damaged", "a document does not match its checksum");
        },
      }),
  });
  const cut = await runCli(["backup", join(path, "a.okv"), "--url", `http://127.0.0.1:${port}`, "--json"]);
  expect(cut.code).toBe(1);
  expect(JSON.parse(cut.stderr)).toMatchObject({ code: "unavailable", detail: expect.stringContaining("cut after") });
  expect(await readdir(path)).toEqual([]);
});

test("a transfer that ends in order but lacks its end is not taken for a whole backup", async () => {
  const path = await folder();
  const { store, request } = await startServer();
  for (let n = 0; n < 20; n++) await store.put({ shape: "note", id: `${n}`, set: { n } });
  const whole = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    store
      .backupTo({ write: async (bytes) => void chunks.push(bytes) })
      .then(() => resolve(Buffer.concat(chunks)), reject);
  });
  expect((await request("GET", "/v1/backup")).status).toBe(200);
  for (const length of [whole.length - 1, whole.length - 32, whole.length - 41, Math.floor(whole.length / 2), 16, 0]) {
    // What a proxy does that closes a chunked transfer in order when its own upstream has died.
    const proxy = createHttpServer((_, response) => response.end(whole.subarray(0, length)));
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const { port } = proxy.address() as AddressInfo;
    const refused = await runCli(["backup", join(path, "a.okv"), "--url", `http://127.0.0.1:${port}`, "--json"]);
    proxy.closeAllConnections();
    proxy.close();
    expect(JSON.parse(refused.stderr), `${length} bytes`).toMatchObject({ code: "backup_invalid" });
    expect(await readdir(path)).toEqual([]);
  }
  await writeFile(join(path, "whole"), whole);
  expect(await checkBackup(join(path, "whole"))).toMatchObject({ documents: 20, bytes: whole.length });
});

test("one backup at a time, which waits for its reader and holds little; a reader that takes nothing is cut", async () => {
  const server = await startServer();
  const { store, clock, request } = server;
  await fill(store);
  const before = process.memoryUsage().arrayBuffers;
  const reader = await stalledReader(server);
  const second = await request("GET", "/v1/backup");
  expect(problemOf(second)).toMatchObject({ status: 503, code: "overloaded" });
  expect(second.headers["retry-after"]).toBe("1");
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  const closed = new Promise((resolve) => reader.once("close", resolve));
  clock.advance(serverLimits.backupStallMs);
  reader.resume();
  await closed;
  expect(reader.complete).toBe(false);
  let length = 0;
  await until(async () => {
    const next = await request("GET", "/v1/backup");
    length = next.text.length;
    return next.status === 200;
  });
  expect(length).toBeGreaterThan(32_000_000);
});

test("a reader who goes away frees the place, and closing the server waits for no reader", async () => {
  const server = await startServer();
  await fill(server.store);
  const gone = await stalledReader(server);
  gone.destroy();
  let reader: IncomingMessage | undefined;
  await until(async () => {
    reader = await stalledReader(server);
    return reader.statusCode === 200;
  });
  await server.app.close();
  await server.store.close();
  reader?.resume();
  await new Promise((resolve) => reader?.once("close", resolve));
  expect(reader?.complete).toBe(false);
});

test("the file of a server and the file of the store itself are the same bytes", async () => {
  const path = await folder();
  const { store, port } = await startServer();
  await store.put({ shape: "note", id: "a", set: { text: "é\0" }, ttl: 9 });
  await store.backup(join(path, "own"));
  await runCli(["backup", join(path, "served"), "--url", `http://127.0.0.1:${port}`]);
  expect((await readFile(join(path, "served"))).equals(await readFile(join(path, "own")))).toBe(true);
});
