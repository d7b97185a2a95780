import { describe, expect, it } from "vitest";
import { measureInterleaved } from "../../bench/measure.js";
import { startLocalServer } from "../../bench/peers/local-server.js";
import { oncekvCreate, oncekvPut } from "../../bench/peers/oncekv.js";
import type { OpenedPeer, Peer } from "../../bench/peers/peer.js";
import { peerCase } from "../../bench/peers/peer-case.js";
import type { Fields } from "../../src/documents/contract.js";

/** A way of being wrong: what `create` does in place of what it should. */
type CreateFault = (documents: Map<string, Fields>, id: string, fields: Fields) => Promise<boolean>;

function storeThat(create: CreateFault): OpenedPeer {
  const documents = new Map<string, Fields>();
  return {
    create: (id, fields) => create(documents, id, fields),
    read: async (id) => documents.get(id),
    close: async () => {},
  };
}

const createsOnce: CreateFault = async (documents, id, fields) => {
  if (documents.has(id)) return false;
  documents.set(id, fields);
  return true;
};

const replaces: CreateFault = async (documents, id, fields) => {
  documents.set(id, fields);
  return true;
};

const storesNothing: CreateFault = async (documents, id) => {
  const won = !documents.has(id);
  documents.set(id, {});
  return won;
};

const storesOtherFields: CreateFault = (documents, id, fields) =>
  createsOnce(documents, id, { ...fields, owner: "somebody else" });

const refusesAll: CreateFault = async () => false;

const letsLosersWrite: CreateFault = async (documents, id, fields) => {
  const won = !documents.has(id);
  documents.set(id, fields);
  return won;
};

/** Looks, then writes: right for whoever comes alone. */
const looksBeforeItWrites: CreateFault = async (documents, id, fields) => {
  const won = !documents.has(id);
  await new Promise(setImmediate);
  if (won) documents.set(id, fields);
  return won;
};

/** Lets nobody win who has company. */
const refusesCompany: CreateFault = async (documents, id, fields) => {
  const marks = documents.get(id)?.["marks"] ?? 0;
  if (typeof marks !== "number" || documents.get(id)?.["status"] !== undefined) return false;
  documents.set(id, { marks: marks + 1 });
  await new Promise(setImmediate);
  if (documents.get(id)?.["marks"] !== 1) return false;
  documents.set(id, fields);
  return true;
};

const breaksDown: CreateFault = () => Promise.reject(new Error("the connection is gone"));

function measure(peer: Peer, create: CreateFault): Promise<unknown> {
  const plan = { callers: 2, warmupRounds: 0, rounds: 2, roundMs: 0, operationsPerCaller: 3 };
  return measureInterleaved([peerCase(peer, storeThat(create))], plan);
}

describe("the case of a peer", () => {
  it("passes on a store that creates each document once, and without a condition on one that replaces", async () => {
    await expect(measure(oncekvCreate, createsOnce)).resolves.toBeDefined();
    await expect(measure(oncekvPut, replaces)).resolves.toBeDefined();
  });

  const faults: readonly (readonly [CreateFault, RegExp])[] = [
    [replaces, /was created a second time/],
    [storesNothing, /must hold/],
    [storesOtherFields, /must hold/],
    [refusesAll, /was there already/],
    [letsLosersWrite, /must hold/],
    [looksBeforeItWrites, /at the same time, 4 win/],
    [refusesCompany, /at the same time, 0 win/],
    [breaksDown, /the connection is gone/],
  ];
  for (const [fault, words] of faults) {
    it(`fails on a store that ${fault.name}`, async () => {
      await expect(measure(oncekvCreate, fault)).rejects.toThrow(words);
    });
  }
});

describe("a server that is started for a peer", () => {
  it("is waited for until it listens, and ended", async () => {
    const server = await startLocalServer(process.execPath, {
      ports: 2,
      argsFor: ([port, other]) => [
        "-e",
        `if (${port} === ${other}) process.exit(1); require("node:http").createServer((_, answer) => answer.end("yes")).listen(${port}, "127.0.0.1")`,
      ],
    });
    const url = `http://127.0.0.1:${server.port}`;
    expect(await (await fetch(url, { headers: { connection: "close" } })).text()).toBe("yes");
    await server.stop();
    await expect(fetch(url)).rejects.toThrow();
  });

  it("tells what it said when it ends instead", async () => {
    const starting = startLocalServer(process.execPath, {
      ports: 1,
      argsFor: () => ["-e", `console.error("no room"); process.exit(3)`],
    });
    await expect(starting).rejects.toThrow(/ended instead of listening: no room/);
    await expect(startLocalServer("/no/such/program", { ports: 1, argsFor: () => [] })).rejects.toThrow(/ENOENT/);
  });
});
