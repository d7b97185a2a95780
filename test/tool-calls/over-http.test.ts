import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { createClient } from "../../client/index.js";
import { serve } from "../../server/index.js";
import type { DocumentStore } from "../../src/documents/contract.js";
import { type EmbeddedStore, openMemoryStore } from "../../src/level/index.js";
import { toolCalls } from "../../src/tool-calls/index.js";
import { blogCodeSuite } from "./blog-code-suite.js";

/** One store, served, with as many clients as a test asks for. */
async function openServer(): Promise<{ store: EmbeddedStore; connect: () => DocumentStore }> {
  const store = await openMemoryStore();
  const server = await serve({ store, port: 0, logLevel: "silent" });
  const clients: DocumentStore[] = [];
  onTestFinished(async () => {
    for (const client of clients) await client.close();
    await server.close();
    await store.close();
  });
  return {
    store,
    connect: () => {
      const client = createClient({ url: server.url });
      clients.push(client);
      return client;
    },
  };
}

const request = { tool: "charge", args: { amount: 10 } };

describe("over HTTP", () => {
  it("100 callers, through four clients and beside the store itself, fire once and get one result", async () => {
    const { store, connect } = await openServer();
    const workers = [connect(), connect(), connect(), connect(), store].map((each) => toolCalls(each));
    let fires = 0;
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        workers[index % 5]?.run(request, async () => {
          fires += 1;
          await sleep(20);
          return { fire: fires };
        }),
      ),
    );
    expect(fires).toBe(1);
    expect(outcomes.filter((outcome) => outcome?.was_replay === true)).toHaveLength(99);
    for (const outcome of outcomes) expect(outcome?.result).toEqual({ fire: 1 });
  });

  it("every error of the protocol is the one that the embedded store gives", async () => {
    const { store, connect } = await openServer();
    const [a, b] = [toolCalls(connect()), toolCalls(store)];
    const claim = await a.claim(request);
    await expect(a.run({ ...request, wait: false }, () => 1)).rejects.toMatchObject({ code: "call_in_flight" });
    await expect(a.run({ ...request, key: claim.key, args: 2 }, () => 1)).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
    await b.list();
    await store.delete({ shape: "tool-call", id: claim.key });
    if (!claim.claimed) throw new Error("expected a claim");
    await expect(claim.complete(1)).rejects.toMatchObject({ code: "claim_lost", current: null });
  });

  it("a result that the server takes in no form is known to be done", async () => {
    const { connect } = await openServer();
    const calls = toolCalls(connect());
    const first = await calls.run(request, () => "x".repeat(3_000_000));
    expect(first).toMatchObject({ persisted: true, result_omitted: "too_large" });
    expect(await calls.run(request, () => "again")).toMatchObject({ was_replay: true, result_omitted: "too_large" });
  });

  it("a claim that is released is taken by exactly one of those who wait", async () => {
    const { connect } = await openServer();
    const claim = await toolCalls(connect()).claim(request);
    if (!claim.claimed) throw new Error("expected a claim");
    let fires = 0;
    const waiting = [connect(), connect(), connect()].map((client) => toolCalls(client).run(request, () => ++fires));
    await claim.release();
    const outcomes = await Promise.all(waiting);
    expect(outcomes.map((outcome) => outcome.was_replay).sort()).toEqual([false, true, true]);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ result: 1, attempt: 2 });
  });
});

describe("the code of the page on idempotent tool calls, over HTTP,", () => {
  blogCodeSuite(async () => {
    const store = await openMemoryStore();
    const server = await serve({ store, port: 0, logLevel: "silent" });
    const client = createClient({ url: server.url });
    return {
      store: client,
      async close() {
        await client.close();
        await server.close();
        await store.close();
      },
    };
  });
});
