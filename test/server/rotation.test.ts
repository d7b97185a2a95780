import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { newToken, serve, type TokenEntry, Tokens } from "../../server/index.js";
import { reloadWhenChanged } from "../../server/reload/reloading.js";
import { reloadableTokens } from "../../server/reload/tokens-reload.js";
import { unaskedLookMs, type WatchFolder } from "../../server/reload/watched-files.js";
import { systemClock } from "../../src/base/clock.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { openMemoryStore } from "../../src/level/index.js";
import { EventReader } from "./events.js";
import { until } from "./gate.js";
import { problemOf, startServer } from "./test-server.js";

const all = { read: ["*"], write: ["*"] };
const unauthorized = { status: 401, code: "unauthorized" };

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly reason?: string;
  readonly added?: string[];
  readonly removed?: string[];
}

function bearer({ token }: { readonly token: string }): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** A tokens file, and tokens that follow it. */
async function followFile(entries: readonly TokenEntry[], watchFolder?: WatchFolder, clock = systemClock) {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-rotation-"));
  const file = join(folder, "tokens.json");
  const lines: Line[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(JSON.parse(chunk.toString("utf8")) as Line);
      done();
    },
  });
  const write = (content: readonly TokenEntry[]) => writeFile(file, JSON.stringify({ tokens: content }));
  await write(entries);
  const tokens = new Tokens(entries);
  const watched = reloadWhenChanged(reloadableTokens(file, tokens), entries, {
    logger: pino(stream),
    clock,
    ...(watchFolder === undefined ? {} : { watchFolder }),
  });
  onTestFinished(async () => {
    await watched.close();
    await rm(folder, { recursive: true });
  });
  return { file, tokens, lines, write };
}

test("a token that is added to the file opens the server, and one that is taken out is refused, without a restart", async () => {
  const [old, next] = [newToken("old", all), newToken("next", all)];
  const { file, tokens, lines, write } = await followFile([old.entry]);
  const { request } = await startServer({ tokens });
  const status = async (token: typeof old) => (await request("GET", "/v1/stats", { headers: bearer(token) })).status;
  expect([await status(old), await status(next)]).toEqual([200, 401]);

  // By renaming another file onto it, as `oncekv token --add-to` does.
  await writeFile(`${file}.new`, JSON.stringify({ tokens: [old.entry, next.entry] }));
  await rename(`${file}.new`, file);
  await until(() => lines.some(({ added }) => added?.includes("next") === true));
  expect([await status(old), await status(next)]).toEqual([200, 200]);

  // In place, as an editor may.
  await write([next.entry]);
  await until(() => lines.some(({ removed }) => removed?.includes("old") === true));
  expect([await status(old), await status(next)]).toEqual([401, 200]);
});

test("a file that is half written, faulty or gone is refused with one line, and the tokens before stay", async () => {
  const worker = newToken("worker", all);
  const { file, tokens, lines, write } = await followFile([worker.entry]);
  const isKnown = () => {
    tokens.authenticate(bearer(worker).authorization, 0);
    return true;
  };
  const refusals = () => lines.filter(({ level }) => level === 40).map(({ reason }) => String(reason));
  await writeFile(file, JSON.stringify({ tokens: [worker.entry] }).slice(0, 40));
  await until(() => refusals().length === 1);
  expect(refusals()[0]).toContain("is not valid: its content is not JSON");
  expect(isKnown()).toBe(true);
  await writeFile(file, JSON.stringify({ tokens: [{ ...worker.entry, expires: "soon" }] }));
  await until(() => refusals().length === 2);
  expect(refusals()[1]).toContain("tokens[0].expires");
  await rm(file);
  await until(() => refusals().length === 3);
  expect(refusals()[2]).toContain("ENOENT");
  expect(isKnown()).toBe(true);
  await write([worker.entry]);
  await until(() => lines.some(({ level, msg }) => level === 30 && msg === "the tokens file was read again"));
  expect(refusals()).toHaveLength(3);
});

test("a refusal shows nothing of the file, where somebody may have put the token itself", async () => {
  const worker = newToken("worker", all);
  const { file, lines } = await followFile([worker.entry]);
  await writeFile(file, `{"tokens":[{"token":${worker.token}}]}`);
  await until(() => lines.length === 1);
  await writeFile(file, worker.token);
  await until(() => lines.some(({ level }) => level === 40));
  expect(JSON.stringify(lines)).not.toContain(worker.token.slice(0, 8));
});

test("the last token can be taken away too: nobody is let in then", async () => {
  const leaked = newToken("leaked", all);
  const { tokens, lines, write } = await followFile([leaked.entry]);
  await write([]);
  await until(() => lines.some(({ removed }) => removed?.includes("leaked") === true));
  expect(() => tokens.authenticate(bearer(leaked).authorization, 0)).toThrow(
    expect.objectContaining({ code: "unauthorized" }),
  );
});

test("where the system tells of no change the file is looked at every few seconds", async () => {
  const clock = new ManualClock();
  const [one, two] = [newToken("one", all), newToken("two", all)];
  const refuse: WatchFolder = () => {
    throw new Error("ENOSPC: too many watches");
  };
  const { lines, write } = await followFile([one.entry], refuse, clock);
  await until(() => clock.timerCount === 1);
  await write([one.entry, two.entry]);
  clock.advance(unaskedLookMs - 1);
  expect(clock.timerCount).toBe(1);
  clock.advance(1);
  await until(() => lines.length === 1);
  expect(lines[0]).toMatchObject({ added: ["two"], removed: [] });
});

test("a token that is removed ends what it waits for and follows: streams, waits, and waits for calls", async () => {
  const [worker, other] = [newToken("worker", all), newToken("other", all)];
  const tokens = new Tokens([worker.entry, other.entry]);
  const { request, port, store } = await startServer({ tokens });
  const headers = bearer(worker);
  const claim = { tool: "t", args: 1, key: "k", owner: "o" };
  await request("POST", "/v1/tool-calls/claim", { headers: bearer(other), body: claim });
  const stream = await EventReader.open(port, "/v1/changes", headers);
  const kept = await EventReader.open(port, "/v1/changes", bearer(other));
  await Promise.all([stream.next(), kept.next()]);
  const waits = [
    request("GET", "/v1/documents/note/a", { headers: { ...headers, prefer: "wait=300" } }),
    request("GET", "/v1/tool-calls/t%3Ak/outcome?wait=30", { headers }),
    request("POST", "/v1/tool-calls/claim", { headers, body: { ...claim, wait: 30 } }),
  ];
  await until(() => store.stats().waiters === 3);
  expect(tokens.replace([other.entry])).toEqual({ added: [], removed: ["worker"], changed: [] });
  expect(await stream.next()).toMatchObject({ event: "error", data: { code: "unauthorized" } });
  expect(await stream.next()).toBeUndefined();
  for (const wait of waits) expect(problemOf(await wait)).toEqual(unauthorized);
  // The others go on.
  await store.put({ shape: "note", id: "a", set: {} });
  expect((await kept.nextCommit()).changes).toMatchObject([{ id: "a" }]);
  kept.close();
});

test("a token that expires ends its waits at that instant, and one that is prolonged keeps them", async () => {
  const brief = newToken("brief", { ...all, expires_at: "2026-01-01T00:00:10Z" });
  const tokens = new Tokens([brief.entry]);
  const { request, clock, store } = await startServer({ tokens });
  const wait = () =>
    request("GET", "/v1/documents/note/a", {
      headers: { ...bearer(brief), "if-none-match": '"0"', prefer: "wait=300" },
    });
  const first = wait();
  await until(() => store.stats().waiters === 1);
  clock.advance(9_999);
  tokens.replace([{ ...brief.entry, expires_at: "2026-01-01T00:00:20Z" }]);
  clock.advance(10_000);
  expect(store.stats().waiters).toBe(1);
  clock.advance(1);
  expect(problemOf(await first)).toEqual(unauthorized);
  expect(problemOf(await wait())).toEqual(unauthorized);
});

test("a token that loses a scope keeps what it still may, and is told 403 where it may not", async () => {
  const worker = newToken("worker", { read: ["note", "job"], write: [] });
  const tokens = new Tokens([worker.entry]);
  const { port } = await startServer({ tokens });
  const note = await EventReader.open(port, "/v1/changes?shape=note", bearer(worker));
  const job = await EventReader.open(port, "/v1/changes?shape=job", bearer(worker));
  await Promise.all([note.next(), job.next()]);
  expect(tokens.replace([{ ...worker.entry, read: ["note"] }]).changed).toEqual(["worker"]);
  expect(await job.next()).toMatchObject({ event: "error", data: { code: "forbidden" } });
  const last = note.next();
  tokens.replace([{ ...worker.entry, read: [] }]);
  expect(await last).toMatchObject({ event: "error", data: { code: "forbidden" } });
});

test("a request whose body is still on its way when its token is removed is refused", async () => {
  const worker = newToken("worker", all);
  const tokens = new Tokens([worker.entry]);
  const { port, store } = await startServer({ tokens });
  const { RawConnection } = await import("./http.js");
  const slow = new RawConnection(port);
  const head = `host: x\r\nauthorization: Bearer ${worker.token}\r\ncontent-type: application/json\r\ncontent-length: 10`;
  slow.write(`PUT /v1/documents/note/a HTTP/1.1\r\n${head}\r\nexpect: 100-continue\r\n\r\n`);
  await slow.until(/100 Continue/);
  tokens.replace([]);
  slow.write('{"set":{}}');
  expect(await slow.until(/"code":"\w+"/)).toContain('"code":"unauthorized"');
  slow.socket.destroy();
  expect(store.revision).toBe(0);
});

test("a write that is repeated under the successor of its token, which has its name, gets the first answer", async () => {
  const [old, next] = [newToken("worker", all), newToken("worker", all)];
  const tokens = new Tokens([old.entry]);
  const { request } = await startServer({ tokens });
  const put = (token: typeof old) =>
    request("PUT", "/v1/documents/note/a", {
      headers: { ...bearer(token), "idempotency-key": "k" },
      body: { set: {}, if_match: { exists: false } },
    });
  expect((await put(old)).status).toBe(201);
  tokens.replace([next.entry]);
  expect(problemOf(await put(old))).toEqual(unauthorized);
  const repeated = await put(next);
  expect([repeated.status, repeated.headers["idempotent-replayed"]]).toEqual([201, "true"]);
});

test("tokens that are not valid replace nothing", () => {
  const worker = newToken("worker", all);
  const tokens = new Tokens([worker.entry]);
  expect(() => tokens.replace([{ ...worker.entry, name: "a b" }])).toThrow(
    expect.objectContaining({ path: "tokens[0].name" }),
  );
  expect(tokens.authenticate(bearer(worker).authorization, 0).tokenName).toBe("worker");
});

test("while a changed file is refused, a metric says so, until it is put right", async () => {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-rotation-"));
  const file = join(folder, "tokens.json");
  const watcher = newToken("watcher", all);
  await writeFile(file, JSON.stringify({ tokens: [watcher.entry] }));
  const store = await openMemoryStore();
  const server = await serve({ store, port: 0, tokensFile: file, logLevel: "silent" });
  onTestFinished(async () => {
    await server.close();
    await store.close();
    await rm(folder, { recursive: true });
  });
  const metrics = async (): Promise<string[]> => {
    const answer = await fetch(`${server.url}/metrics`, { headers: bearer(watcher) });
    return (await answer.text()).split("\n").filter((line) => line.startsWith("oncekv_reload"));
  };
  expect(await metrics()).toEqual([
    'oncekv_reload_refused{files="tokens"} 0',
    'oncekv_reload_refusals_total{files="tokens"} 0',
  ]);
  await writeFile(file, "{");
  await vi.waitFor(async () => expect(await metrics()).toContain('oncekv_reload_refused{files="tokens"} 1'), 30_000);
  await writeFile(file, JSON.stringify({ tokens: [watcher.entry] }));
  await vi.waitFor(async () => expect(await metrics()).toContain('oncekv_reload_refused{files="tokens"} 0'), 30_000);
  const [, refusals = ""] = await metrics();
  expect(refusals).toMatch(/^oncekv_reload_refusals_total\{files="tokens"\} [1-9]/);
});
