import type { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { MeasuredProcess } from "./loaded-process.js";
import { eventually, LoadedServer, type ServerNumbers } from "./loaded-server.js";

const count = 1000;
/** Objects of one waiter, its connection among them. */
const bytesAWaiterMax = 40 * 1024;

function get(path: string, ...headers: string[]): string {
  return [`GET ${path} HTTP/1.1`, "host: localhost", ...headers, "", ""].join("\r\n");
}

const claim = JSON.stringify({ tool: "t", args: {}, key: "k", pending_ttl: 300, wait: 60, owner: "w" });
const postClaim = (id: string): string => {
  const body = claim.replace('"owner"', `"claim_id":"${id}","owner"`);
  return `POST /v1/tool-calls/claim HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};

/** What is left of waiters, wherever one may be counted. */
async function left(
  server: LoadedServer,
): Promise<Pick<MeasuredProcess, "watchers" | "waiters" | "resources"> & ServerNumbers> {
  const numbers = await server.numbers();
  const { watchers, waiters, resources } = await server.measure();
  return { ...numbers, watchers, waiters, resources };
}

test.each([
  [
    "waits for a document",
    (n: number) => get(`/v1/documents/note/${n % 10}`, "prefer: wait=60", 'if-none-match: "0"'),
    "waits",
  ],
  ["waits for the outcome of a tool call", () => get("/v1/tool-calls/t%3Ak/outcome?wait=60"), "waits"],
  ["claims that wait for another claimant", (n: number) => postClaim(`c-${n}`), "waits"],
  ["streams of changes", () => get("/v1/changes"), "streams"],
] as const)("a thousand %s whose connections vanish leave nothing behind", async (_, requestOf, counted) => {
  const server = await LoadedServer.start({});
  onTestFinished(() => server.stop());
  const given = { method: "POST", path: "/v1/tool-calls/claim" };
  const first = { tool: "t", args: {}, key: "k", pending_ttl: 300, owner: "first", claim_id: "first" };
  expect((await server.request(given.method, given.path, { body: first })).status).toBe(200);
  // What is made once, as the first of everything.
  await vanish(server, requestOf, 20, counted);
  const before = await left(server);
  const memoryBefore = (await server.measure()).objects;
  const bytes = await vanish(server, requestOf, count, counted, memoryBefore);
  process.stdout.write(`${_}: ${Math.round(bytes / count)} bytes each\n`);
  expect(bytes / count).toBeLessThan(bytesAWaiterMax);
  const after = await eventually(
    "nothing is left",
    () => left(server),
    (now) => isLevel(now, before),
  );
  expect(after).toMatchObject({ waits: 0, streams: 0, requests: 0, held_bytes: 0, waiters: 0, watchers: 0 });
});

test("waiters that stay are found by the same look", async () => {
  const server = await LoadedServer.start({});
  onTestFinished(() => server.stop());
  const before = await left(server);
  const socket = server.connect();
  socket.write(get("/v1/documents/note/none", "prefer: wait=60"));
  await eventually(
    "it waits",
    () => server.numbers(),
    ({ waits }) => waits === 1,
  );
  const now = await left(server);
  expect(isLevel(now, before)).toBe(false);
  expect(now).toMatchObject({ waits: 1, waiters: 1 });
});

/** Opens so many, waits until the server counts all of them, and destroys their connections. Returns the memory they took. */
async function vanish(
  server: LoadedServer,
  requestOf: (n: number) => string,
  many: number,
  counted: "waits" | "streams",
  memoryBefore = 0,
): Promise<number> {
  const sockets: Socket[] = [];
  for (let n = 0; n < many; n++) {
    const socket = server.connect();
    socket.write(requestOf(n));
    socket.resume();
    sockets.push(socket);
  }
  await eventually(
    "all are there",
    () => server.numbers(),
    (numbers) => numbers[counted] === many,
  );
  const { objects } = await server.measure();
  for (const socket of sockets) socket.destroy();
  await eventually(
    "all are gone",
    () => server.numbers(),
    (numbers) => numbers[counted] === 0,
  );
  return objects - memoryBefore;
}

function isLevel(now: Awaited<ReturnType<typeof left>>, before: typeof now): boolean {
  return (Object.keys(before) as (keyof typeof now)[]).every(
    (what) => now[what] <= before[what] + (what === "resources" ? 5 : 0),
  );
}
