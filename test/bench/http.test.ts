import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WrongResultError } from "../../bench/checks.js";
import type { BenchChild } from "../../bench/child.js";
import { ScatteredIds } from "../../bench/claim-documents.js";
import { AnswerReader } from "../../bench/http/answer-reader.js";
import { bareHandler, emptyHandler } from "../../bench/http/bare-handler.js";
import { ClaimRequest, loadCondition, loadFields, loadWriteId } from "../../bench/http/claim-request.js";
import { benchHttp } from "../../bench/http/http.js";
import { LoadGenerator } from "../../bench/http/load-generator.js";
import { LoadMethods } from "../../bench/http/load-methods.js";
import type { LoadProcessMethods } from "../../bench/http/load-process.js";
import { loadTables } from "../../bench/http/load-tables.js";
import { ServerLoad } from "../../bench/http/server-load.js";
import { throughputOver } from "../../bench/http/throughput.js";
import type { BenchTable } from "../../bench/table.js";
import { createClient } from "../../client/index.js";
import type { DocumentStore } from "../../src/documents/contract.js";
import { openMemoryStore } from "../../src/index.js";
import {
  breaksDown,
  hidesTheWinner,
  ignoresConditions,
  type PutFault,
  refusesAll,
  storesNothing,
  storesOtherFields,
  withFault,
} from "./faulty-store.js";
import { tinyWorld } from "./tiny-world.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe("the group http", () => {
  it("measures every case, and leaves nothing behind", async () => {
    const tables: BenchTable[] = [];
    for await (const table of benchHttp(await tinyWorld(folder, { durabilities: ["durable"] }))) tables.push(table);
    expect(tables.map(({ setting }) => setting)).toEqual([
      { durability: "durable", callers: 1, client: "oncekv/client" },
      { durability: "durable", callers: 4, client: "oncekv/client" },
      { durability: "durable", connections: 1, client: "load generator" },
      { durability: "durable", connections: 4, client: "load generator" },
    ]);
    for (const { title, rows, columns } of tables) {
      expect(title).toContain("durable (a write is answered when it is on disk)");
      for (const { key } of columns) {
        for (const row of rows) expect(Number.isFinite(row.values[key] ?? 0), `${row.case} ${key}`).toBe(true);
      }
      for (const row of rows) expect(row.values["p50_us"], row.case).toBeGreaterThan(0);
    }
    const [one, , , load] = tables;
    expect(one?.rows.map((row) => row.case)).toEqual(
      expect.arrayContaining(["put-new", "create-if-absent", "create-if-absent-refused", "get-hit", "get-miss"]),
    );
    expect(one?.targets.map(({ name }) => name)).toEqual([
      "HTTP conditional over plain put, one connection, median, durable",
    ]);
    expect(load?.rows.map((row) => [row.case, row.values["operations"]])).toEqual([
      ["oncekv serve", 24],
      ["bare node:http, same store", 24],
      ["bare node:http, no store", 24],
    ]);
    expect(load?.targets.map(({ target }) => target)).toEqual([0.85]);
    expect(await readdir(folder)).toEqual([]);
  });

  it("closes what it has opened when it is interrupted", async () => {
    const interrupted = new AbortController();
    const world = await tinyWorld(folder, {
      durabilities: ["durable"],
      signal: interrupted.signal,
      say: () => interrupted.abort(new Error("enough")),
    });
    await expect(loadTables(world, "buffered").next()).rejects.toThrow("enough");
    expect(await readdir(folder)).toEqual([]);
  });
});

/** Runs `use` with a server of this process. */
async function withServer<T>(handler: RequestListener, use: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** The load generator in this process. */
function loadHere(): BenchChild<LoadProcessMethods> {
  const methods = new LoadMethods();
  return {
    call: async (name, input) => structuredClone(await methods[name](input as never)) as never,
    stop: async () => methods.end(),
  };
}

/** Two rounds of load on a handler, with all their checks. */
async function loadOn(handler: RequestListener, checked = true): Promise<unknown> {
  return withServer(handler, async (url) => {
    const child = loadHere();
    const store = checked ? createClient({ url, retryFor: 0 }) : undefined;
    const plan = { roundMs: 0, requestsPerConnection: 2 };
    try {
      const load = await ServerLoad.open(child, { name: "it", url, store }, { shape: "claims", connections: 3, plan });
      return [await load.round(), await load.round()];
    } finally {
      await store?.close();
      await child.stop();
    }
  });
}

describe("a server under load", () => {
  let store: DocumentStore;

  beforeEach(async () => {
    store = await openMemoryStore();
  });

  afterEach(() => store.close());

  it("passes when it is right", async () => {
    const round = { latenciesMs: expect.objectContaining({ length: 6 }), elapsedMs: expect.any(Number) };
    expect(await loadOn(bareHandler(store))).toEqual([round, round]);
    expect(await loadOn(emptyHandler(), false)).toEqual([round, round]);
    const { documents } = await store.list("claims", { limit: 100 });
    expect(documents).toHaveLength(12);
    expect(documents[0]?.fields).toEqual(loadFields);
  });

  const faults: readonly (readonly [PutFault, RegExp])[] = [
    [ignoresConditions, /had to be refused/],
    [storesNothing, /acknowledged 6 creates, but its store has grown by/],
    [storesOtherFields, /must hold/],
    [refusesAll, /had to be created, but the answer is 412/],
    [hidesTheWinner, /must show revision/],
    [breaksDown, /the connection is gone/],
  ];

  it.each(faults)("fails when its store is wrong: %o", async (fault, words) => {
    await expect(loadOn(bareHandler(withFault(store, fault)))).rejects.toThrow(words);
  });

  const wrongAnswers: { readonly [name: string]: readonly [RequestListener, RegExp] } = {
    "another status": [(_, response) => response.end("{}"), /had to be created, but the answer is 200/],
    "a failure": [(_, response) => response.writeHead(503, { "content-length": 2 }).end("{}"), /the answer is 503/],
    "an answer of no length": [(_, response) => response.write("{}"), /has no content length/],
    "the end of the connection": [(_, response) => response.socket?.destroy(), /closed a connection/],
  };

  it.each(Object.keys(wrongAnswers))("fails on %s", async (name) => {
    const [handler, words] = wrongAnswers[name] ?? [];
    const loaded = loadOn(handler ?? emptyHandler(), false);
    await expect(loaded).rejects.toThrow(WrongResultError);
    await expect(loaded).rejects.toThrow(words);
  });

  it("fails when it does not listen", async () => {
    const url = await withServer(emptyHandler(), async (address) => address);
    const target = { url, shape: "claims", connections: 2 };
    await expect(LoadGenerator.connect(target, new ScatteredIds())).rejects.toThrow("ECONNREFUSED");
  });
});

describe("the load generator's request", () => {
  it("is what our client sends, byte for byte", async () => {
    const ids = new ScatteredIds();
    const sampleId = ids.next();
    const id = ids.next();
    const server = createSocketServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = createClient({ url, retryFor: 0 });
    try {
      const write = { shape: "claims", id, set: loadFields, if_match: loadCondition, write_id: loadWriteId(id) };
      const lost = expect(client.put(write)).rejects.toThrow("gave no answer");
      const [socket] = await once(server, "connection");
      const [sent] = await once(socket, "data");
      socket.destroy();
      await lost;
      const request = new ClaimRequest({ url, shape: "claims", sampleId });
      expect(request.bytesFor(id).toString()).toBe(String(sent));
      expect(() => request.bytesFor("another")).toThrow(RangeError);
    } finally {
      await client.close();
      server.close();
    }
  });
});

describe("the reader of answers", () => {
  const answer = 'HTTP/1.1 201 Created\r\nContent-Length: 13\r\n\r\n{"created":1}';

  it("puts an answer together from its pieces", () => {
    for (let cut = 1; cut < answer.length; cut++) {
      const reader = new AnswerReader();
      expect(reader.read(Buffer.from(answer.slice(0, cut)))).toBeUndefined();
      expect(reader.read(Buffer.from(answer.slice(cut)))).toEqual({ status: 201, body: '{"created":1}' });
      expect(reader.read(Buffer.from(answer))).toEqual({ status: 201, body: '{"created":1}' });
    }
  });

  it("refuses what it does not know", () => {
    expect(() => new AnswerReader().read(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"))).toThrow(WrongResultError);
    expect(() => new AnswerReader().read(Buffer.from(`${answer}${answer}`))).toThrow("longer than it says");
  });
});

describe("throughputOver", () => {
  it("compares operations per second, over all rounds and round by round", () => {
    const rounds = (...elapsedMs: number[]) => elapsedMs.map((ms) => ({ latenciesMs: [1], elapsedMs: ms }));
    expect(throughputOver(rounds(1, 1, 1, 1), rounds(1, 2, 2, 3))).toEqual({ ratio: 0.5, quartiles: [1 / 3, 0.5] });
    expect(() => throughputOver(rounds(1), rounds(1, 1))).toThrow(RangeError);
  });
});
