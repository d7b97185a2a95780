import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { newToken, serve } from "../../server/index.js";
import { addressUrl, isLoopback } from "../../server/listen-address.js";
import { openMemoryStore, openStore } from "../../src/level/index.js";
import { send } from "./http.js";

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-serve-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

test("serve opens the folder, listens on loopback, and closes the store last", async () => {
  const dataDir = join(await temporaryFolder(), "data");
  const server = await serve({ dataDir, port: 0, logLevel: "silent", processMetrics: false });
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const put = await send(portOf(server.url), { method: "PUT", path: "/v1/documents/note/a", body: { set: { n: 1 } } });
  expect(put.status).toBe(201);
  await Promise.all([server.close(), server.close()]);
  const store = await openStore({ dataDir });
  expect(await store.get("note", "a")).toEqual({ n: 1 });
  await store.close();
});

test("a store that was given stays open when the server closes", async () => {
  const store = await openMemoryStore();
  const server = await serve({ store, port: 0, logLevel: "silent", processMetrics: false });
  await server.close();
  await store.put({ shape: "note", id: "a", set: {} });
  expect(store.revision).toBe(1);
  await store.close();
});

test("a folder that another server has open is refused by its name, and the first one is unharmed", async () => {
  const dataDir = await temporaryFolder();
  const server = await serve({ dataDir, port: 0, logLevel: "silent", processMetrics: false });
  await expect(serve({ dataDir, port: 0, logLevel: "silent" })).rejects.toMatchObject({ code: "store_locked" });
  expect((await send(portOf(server.url), { method: "GET", path: "/readyz" })).status).toBe(200);
  await server.close();
});

test("a port that is taken is an error that names address and port, and leaves the folder free", async () => {
  const dataDir = await temporaryFolder();
  const store = await openMemoryStore();
  const first = await serve({ store, port: 0, logLevel: "silent", processMetrics: false });
  const port = portOf(first.url);
  const second = serve({ dataDir, port, logLevel: "silent", processMetrics: false });
  await expect(second).rejects.toThrow(`address already in use 127.0.0.1:${port}`);
  await (await openStore({ dataDir })).close();
  await first.close();
  await store.close();
});

test.each(["0.0.0.0", "::", "192.168.0.1", "example.com", "127.0.0.1.example.com", ""])(
  "the address %j without tokens is refused before anything is opened, with what to do",
  async (host) => {
    const dataDir = join(await temporaryFolder(), "data");
    const refused = serve({ dataDir, host, port: 0, logLevel: "silent" });
    await expect(refused).rejects.toMatchObject({ code: "invalid_request", path: "host" });
    await expect(refused).rejects.toThrow(/Give it a tokens file, or listen on 127.0.0.1/);
  },
);

test("localhost is this machine, and is served on 127.0.0.1", async () => {
  const store = await openMemoryStore();
  const server = await serve({ store, host: "localhost", port: 0, logLevel: "silent", processMetrics: false });
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  await server.close();
  await store.close();
});

test("with a tokens file the server asks for a token", async () => {
  const folder = await temporaryFolder();
  const tokensFile = join(folder, "tokens.json");
  const { token, entry } = newToken("worker", { read: ["*"], write: [] });
  await writeFile(tokensFile, JSON.stringify({ tokens: [entry] }));
  const server = await serve({ dataDir: join(folder, "data"), tokensFile, port: 0, logLevel: "silent" });
  const ask = (headers: Record<string, string>) =>
    send(portOf(server.url), { method: "GET", path: "/v1/stats", headers });
  expect((await ask({})).status).toBe(401);
  expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(200);
  await server.close();
});

test("a faulty tokens file keeps the server from starting", async () => {
  const folder = await temporaryFolder();
  const tokensFile = join(folder, "tokens.json");
  await writeFile(tokensFile, JSON.stringify({ tokens: [{ name: "worker" }] }));
  await expect(serve({ dataDir: join(folder, "data"), tokensFile, port: 0 })).rejects.toThrow(/tokens\[0\]\.sha256/);
});

test("only loopback addresses are loopback", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "::1", "localhost"]) expect(isLoopback(host), host).toBe(true);
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "127.evil.example", "128.0.0.1", "LOCALHOST.example"]) {
    expect(isLoopback(host), host).toBe(false);
  }
});

test("the URL of a server is one that can be connected to", () => {
  expect(addressUrl("127.0.0.1", 7070)).toBe("http://127.0.0.1:7070");
  expect(addressUrl("0.0.0.0", 7070)).toBe("http://127.0.0.1:7070");
  expect(addressUrl("::1", 7070)).toBe("http://[::1]:7070");
  expect(addressUrl("::", 7070)).toBe("http://[::1]:7070");
});
