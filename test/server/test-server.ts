import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { createServer, type ServerOptions } from "../../server/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import type { Document, DocumentStore, WriteResult } from "../../src/documents/contract.js";
import { type EmbeddedStore, openMemoryStore } from "../../src/level/index.js";
import { type Answer, type SentRequest, send } from "./http.js";

export interface TestServer {
  readonly app: FastifyInstance;
  readonly store: EmbeddedStore;
  readonly clock: ManualClock;
  readonly port: number;
  /** Over a real connection, with the path exactly as it is given. */
  request(method: string, path: string, options?: Omit<SentRequest, "method" | "path">): Promise<Answer>;
}

interface TestServerOptions extends Partial<Omit<ServerOptions, "store" | "clock">> {
  /** Stands between the server and the store. */
  readonly wrap?: (store: EmbeddedStore) => DocumentStore;
  readonly history?: { readonly maxAgeSeconds?: number; readonly maxBytes?: number };
}

/** A server over a store in memory, on a free port, with a clock that stands still; it is closed when the test ends. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { server, close } = await openServer(options);
  onTestFinished(close);
  return server;
}

/** One server for all tests of a file that leave nothing behind which another one would notice. */
export function sharedServer(): () => TestServer {
  let opened: { server: TestServer; close: () => Promise<void> } | undefined;
  beforeAll(async () => {
    opened = await openServer({});
  });
  afterAll(() => opened?.close());
  return () => {
    if (opened === undefined) throw new Error("the server is there once the tests have begun");
    return opened.server;
  };
}

async function openServer(options: TestServerOptions): Promise<{ server: TestServer; close: () => Promise<void> }> {
  const { wrap, history, ...serverOptions } = options;
  const clock = new ManualClock();
  const store = await openMemoryStore({ clock, ...(history === undefined ? {} : { history }) });
  const app = createServer({ ...serverOptions, store: wrap === undefined ? store : wrap(store), clock });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const server: TestServer = {
    app,
    store,
    clock,
    port,
    request: (method, path, request = {}) => send(port, { method, path, ...request }),
  };
  const close = async (): Promise<void> => {
    const closing = app.close();
    // What a failed test has left open must not keep the next ones waiting.
    app.server.closeAllConnections();
    await closing;
    await store.close();
  };
  return { server, close };
}

/** The store, but for the methods that a test has fail. */
export function withMethods(store: EmbeddedStore, methods: Partial<DocumentStore>): DocumentStore {
  return {
    limits: store.limits,
    get: (shape, id) => store.get(shape, id),
    getDocument: (shape, id) => store.getDocument(shape, id),
    getMany: (keys) => store.getMany(keys),
    put: (write) => store.put(write),
    patch: (write) => store.patch(write),
    delete: (write) => store.delete(write),
    batch: (operations, options) => store.batch(operations, options),
    list: (shape, options) => store.list(shape, options),
    scan: (shape, options) => store.scan(shape, options),
    watch: (options) => store.watch(options),
    waitFor: (shape, id, options) => store.waitFor(shape, id, options),
    close: () => store.close(),
    ...methods,
  };
}

/** The body of an answer as a document; the test fails elsewhere if it is not one. */
export function documentOf(answer: Answer): Document {
  return answer.json as Document;
}

export function resultOf(answer: Answer): WriteResult {
  return answer.json as WriteResult;
}

/** Code, status and path of a problem, and that it is one. */
export function problemOf(answer: Answer): { status: number; code: unknown; path?: unknown } {
  const problem = answer.json as Record<string, unknown>;
  if (answer.headers["content-type"] !== "application/problem+json; charset=utf-8") {
    throw new Error(`not a problem: ${answer.status} ${answer.text}`);
  }
  if (problem["status"] !== answer.status) throw new Error(`the status in the body differs: ${answer.text}`);
  return {
    status: answer.status,
    code: problem["code"],
    ...(problem["path"] === undefined ? {} : { path: problem["path"] }),
  };
}
