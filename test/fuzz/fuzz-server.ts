import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { createServer, type TokenEntry } from "../../server/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import type { DocumentStore } from "../../src/documents/contract.js";
import { type EmbeddedStore, openMemoryStore } from "../../src/level/index.js";
import { AnswerJudge } from "./answer-judge.js";
import { type ApiDescription, type Operation, operationsOf } from "./api.js";
import { Wire } from "./wire.js";

/** A server that is given bad input, and all by which its answers are judged. */
export interface FuzzServer {
  readonly app: FastifyInstance;
  readonly store: EmbeddedStore;
  /** What the server itself reads and writes: the store, or what a weakness makes of it. */
  readonly served: DocumentStore;
  readonly clock: ManualClock;
  readonly wire: Wire;
  readonly operations: readonly Operation[];
  readonly judge: AnswerJudge;
  /** How often the clock was moved because a request waited. */
  readonly moves: () => number;
  /** Lines of the log that tell of a fault of the server's. */
  readonly faultsLogged: () => readonly string[];
  readonly close: () => Promise<void>;
}

export interface FuzzServerOptions {
  /** An open store to serve; the server has one of its own when absent. */
  readonly store?: { readonly store: EmbeddedStore; readonly clock: ManualClock };
  readonly tokens?: readonly TokenEntry[];
  /** Makes the server a worse one, to show that it is found. */
  readonly weaken?: Weakness | undefined;
}

export interface Weakness {
  readonly app?: (app: FastifyInstance, store: EmbeddedStore) => void;
  readonly store?: (store: EmbeddedStore) => DocumentStore;
}

/** Milliseconds by which the clock goes on when a request waits: longer than any request may. */
const waitedMs = 400_000;

export async function openFuzzServer(options: FuzzServerOptions = {}): Promise<FuzzServer> {
  const { weaken, tokens } = options;
  const clock = options.store?.clock ?? new ManualClock();
  const store = options.store?.store ?? (await openMemoryStore({ clock }));
  const faultsLogged: string[] = [];
  const log = new Writable({
    write(chunk: Buffer, _, done) {
      faultsLogged.push(...chunk.toString("utf8").trim().split("\n"));
      done();
    },
  });
  const served = weaken?.store?.(store) ?? store;
  const app = createServer({
    store: served,
    clock,
    logger: pino({ level: "error" }, log),
    ...(tokens === undefined ? {} : { tokens }),
  });
  weaken?.app?.(app, store);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const description = app.swagger() as unknown as ApiDescription;
  let moves = 0;
  const wire = new Wire((app.server.address() as AddressInfo).port, () => {
    // A slow machine is no wait: somebody must stand there and wait for the clock.
    if (store.stats().waiters === 0) return;
    moves += 1;
    clock.advance(waitedMs);
  });
  return {
    app,
    store,
    served,
    clock,
    wire,
    operations: operationsOf(JSON.parse(JSON.stringify(description)) as ApiDescription),
    judge: new AnswerJudge(JSON.parse(JSON.stringify(description)) as ApiDescription),
    moves: () => moves,
    faultsLogged: () => faultsLogged,
    close: async () => {
      wire.close();
      const closing = app.close();
      app.server.closeAllConnections();
      await closing;
      if (options.store === undefined) await store.close();
    },
  };
}
