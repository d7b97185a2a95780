import { setTimeout as sleep } from "node:timers/promises";
import { buildConnector, Pool } from "undici";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Client,
  type ClientOptions,
  createClient,
  LostAnswerError,
  OnceKvError,
  OutcomeUnknownError,
  PreconditionFailedError,
  StoreClosedError,
} from "../../client/index.js";
import { errorTable } from "../../src/base/errors.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { type Answer, answerJson, closedPort, cut, type FaultyServer, startFaultyServer } from "./faulty-server.js";

const written = { revision: 7, expires_at: null, created: true };

function problem(code: keyof typeof errorTable, more: object = {}): object {
  return { type: `urn:oncekv:error:${code}`, code, detail: "because", retryable: errorTable[code].retryable, ...more };
}

/** What a promise rejects with. */
async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect.fail(`must reject, but gave ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2);
}

let ends: (() => Promise<void>)[];
beforeEach(() => {
  ends = [];
});
afterEach(async () => {
  for (const end of ends.reverse()) await end();
});

async function serverAnd(
  answer: Answer,
  options: ClientOptions = {},
): Promise<{ server: FaultyServer; client: Client }> {
  const server = await startFaultyServer(answer);
  const client = createClient({ url: server.url, random: () => 0.1, ...options });
  ends.push(server.close, () => client.close());
  return { server, client };
}

describe("a write whose answer is lost", () => {
  test("is sent again with the same key and the same body, and succeeds", async () => {
    const { server, client } = await serverAnd((_, response, attempt) =>
      attempt < 4 ? cut(response) : answerJson(response, 201, { ...written, replayed: true }),
    );
    const result = await client.put({ shape: "note", id: "a", set: { n: 1 }, if_match: { exists: false } });
    expect(result).toEqual({ ...written, replayed: true });
    expect(server.seen).toHaveLength(4);
    expect(new Set(server.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    expect(new Set(server.seen.map(({ body }) => body))).toEqual(
      new Set(['{"set":{"n":1},"if_match":{"exists":false}}']),
    );
  });

  test("is sent under the caller's write_id, when there is one", async () => {
    const { server, client } = await serverAnd((_, response) => answerJson(response, 200, written));
    await client.put({ shape: "note", id: "a", set: {}, write_id: "order-1" });
    await client.put({ shape: "note", id: "a", set: {}, write_id: "\u{1F600} \n" });
    await client.put({ shape: "note", id: "a", set: {}, write_id: "\u{1F600} \n" });
    const keys = server.seen.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual(["order-1", expect.stringMatching(/^sha256-[0-9a-f]{64}$/), keys[1]]);
  });

  test("two writes never share a key of their own", async () => {
    const { server, client } = await serverAnd((_, response) => answerJson(response, 200, written));
    await Promise.all([1, 2, 3].map((n) => client.put({ shape: "note", id: "a", set: { n } })));
    expect(new Set(server.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(3);
  });

  test("is of unknown outcome when no attempt is answered", async () => {
    const { client } = await serverAnd((_, response) => cut(response), { retryFor: 0.2 });
    const error = await errorOf(client.put({ shape: "note", id: "a", set: {}, write_id: "w-1" }));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toBeInstanceOf(LostAnswerError);
    expect(error).toMatchObject({
      code: "outcome_unknown",
      retryable: false,
      write_id: "w-1",
      cause: expect.any(Error),
    });
    expect(String(error)).toContain("w-1");
  });

  test("is of unknown outcome when it is not answered in time", async () => {
    const clock = new ManualClock();
    const { server, client } = await serverAnd(() => {}, { clock, timeout: 5, retryFor: 0 });
    const error = errorOf(client.patch({ shape: "note", id: "a", merge: { n: 1 } }));
    await until(() => server.seen.length === 1);
    clock.advance(5000);
    expect(await error).toBeInstanceOf(OutcomeUnknownError);
    expect(String(await error)).toContain("no answer within 5 s");
  });

  test("is of unknown outcome when later attempts only hear that the store is failing", async () => {
    const { client } = await serverAnd((_, response, attempt) =>
      attempt === 1 ? cut(response) : answerJson(response, 503, problem("store_failed")),
    );
    expect(await errorOf(client.delete({ shape: "note", id: "a" }))).toBeInstanceOf(OutcomeUnknownError);
  });

  test("is of unknown outcome when the connection ends in the middle of the answer", async () => {
    const { client } = await serverAnd(
      (_, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
        response.write('{"revision":');
        setImmediate(() => cut(response));
      },
      { retryFor: 0 },
    );
    expect(await errorOf(client.put({ shape: "note", id: "a", set: {} }))).toBeInstanceOf(OutcomeUnknownError);
  });

  test("is of unknown outcome when something else answers in the server's place", async () => {
    const { client } = await serverAnd((_, response) => response.end("<h1>Welcome to the hotel</h1>"), { retryFor: 0 });
    expect(await errorOf(client.put({ shape: "note", id: "a", set: {} }))).toBeInstanceOf(OutcomeUnknownError);
  });

  test("that lost its race is told so, when the answer to its own attempt says so", async () => {
    const failures = [{ index: 0, shape: "note", id: "a", expected: { exists: false }, current: null }];
    const { client } = await serverAnd((_, response, attempt) =>
      attempt === 1 ? cut(response) : answerJson(response, 412, problem("precondition_failed", { failures })),
    );
    const error = await errorOf(client.put({ shape: "note", id: "a", set: {}, if_match: { exists: false } }));
    expect(error).toBeInstanceOf(PreconditionFailedError);
    expect(error).toMatchObject({ status: 412, failures });
  });
});

describe("a server that cannot serve just now", () => {
  test.each([502, 503, 504])("a proxy's %d is tried again", async (status) => {
    const { server, client } = await serverAnd((_, response, attempt) => {
      if (attempt > 2) return answerJson(response, 200, written);
      response.writeHead(status, { "content-type": "text/html" });
      response.end("<h1>bad</h1>");
    });
    await client.put({ shape: "note", id: "a", set: {} });
    expect(server.seen).toHaveLength(3);
  });

  test("is asked again after the time that it names", async () => {
    const { server, client } = await serverAnd((_, response, attempt) =>
      attempt === 1
        ? answerJson(response, 503, problem("overloaded", { retry_after: 0.2 }), { "retry-after": "1" })
        : answerJson(response, 200, written),
    );
    const begun = performance.now();
    await client.put({ shape: "note", id: "a", set: {} });
    expect(performance.now() - begun).toBeGreaterThanOrEqual(200);
    expect(performance.now() - begun).toBeLessThan(1000);
    expect(server.seen).toHaveLength(2);
  });

  test("is not asked again when it names a time beyond all patience", async () => {
    const { server, client } = await serverAnd((_, response) =>
      answerJson(response, 503, problem("overloaded"), { "retry-after": "60" }),
    );
    const error = await errorOf(client.put({ shape: "note", id: "a", set: {} }));
    expect(error).toMatchObject({ code: "overloaded", retryAfter: 60 });
    expect(server.seen).toHaveLength(1);
  });

  test("a body over a limit is answered once, and not sent again", async () => {
    const { server, client } = await serverAnd((_, response) =>
      answerJson(response, 413, problem("too_large", { path: "set" }), { connection: "close" }),
    );
    const error = await errorOf(client.put({ shape: "note", id: "a", set: { text: "x".repeat(1_500_000) } }));
    expect(error).toMatchObject({ code: "too_large", status: 413 });
    expect(server.seen).toHaveLength(1);
  });

  test("what is surely too large is not sent at all", async () => {
    const { server, client } = await serverAnd((_, response) => answerJson(response, 200, written));
    const set = { text: "x".repeat(20 * 1024 * 1024) };
    expect(await errorOf(client.put({ shape: "note", id: "a", set }))).toMatchObject({ code: "too_large" });
    const operations = [1, 2, 3].map((n) => ({ op: "put" as const, shape: "note", id: `${n}`, set }));
    expect(await errorOf(client.batch(operations))).toMatchObject({ code: "too_large" });
    expect(server.seen).toHaveLength(0);
  });
});

describe("a read", () => {
  const document = { shape: "note", id: "a", fields: { n: 1 }, revision: 3 };

  test("is tried again, whatever was lost", async () => {
    const { server, client } = await serverAnd((_, response, attempt) =>
      attempt < 3 ? cut(response) : answerJson(response, 200, document),
    );
    expect(await client.get("note", "a")).toEqual({ n: 1 });
    expect(server.seen).toHaveLength(3);
  });

  test("that is never answered is unavailable, and says where and why", async () => {
    const { server, client } = await serverAnd((_, response) => cut(response), { retryFor: 0.1 });
    const error = await errorOf(client.get("note", "a"));
    expect(error).toBeInstanceOf(OnceKvError);
    expect(error).toMatchObject({ code: "unavailable", retryable: true, cause: expect.any(Error) });
    expect(String(error)).toContain(`127.0.0.1:${server.port}`);
  });

  test("does not take a proxy's 404 for an absent document", async () => {
    const { client } = await serverAnd((_, response) => {
      response.writeHead(404);
      response.end("no such page");
    });
    expect(await errorOf(client.get("note", "a"))).toMatchObject({ code: "route_not_found" });
  });
});

describe("a server that is not there", () => {
  test("is unavailable, for a write too: nothing was sent", async () => {
    const port = await closedPort();
    const client = createClient({ url: `http://127.0.0.1:${port}`, retryFor: 0.1 });
    ends.push(() => client.close());
    for (const call of [() => client.get("note", "a"), () => client.put({ shape: "note", id: "a", set: {} })]) {
      const error = await errorOf(call());
      expect(error).toMatchObject({ code: "unavailable", cause: { code: "ECONNREFUSED" } });
      expect(String(error)).toContain(`127.0.0.1:${port}`);
    }
  });

  test("is waited for while it starts", async () => {
    const connect = buildConnector({});
    let refused = 0;
    const server = await startFaultyServer((_, response) => answerJson(response, 200, written));
    const dispatcher = new Pool(server.url, {
      connect: (options, callback) => {
        if (refused === 3) return connect(options, callback);
        refused += 1;
        callback(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }), null);
      },
    });
    const client = createClient({ url: server.url, dispatcher, random: () => 0.1 });
    ends.push(
      server.close,
      () => dispatcher.close(),
      () => client.close(),
    );
    expect(await client.put({ shape: "note", id: "a", set: {} })).toEqual(written);
    expect(refused).toBe(3);
  });
});

describe("a call that is aborted", () => {
  test("rejects with the signal's reason, at once", async () => {
    const { server, client } = await serverAnd(() => {});
    const controller = new AbortController();
    const view = client.with({ signal: controller.signal });
    const reason = new Error("enough");
    const calls = [view.get("note", "a"), view.put({ shape: "note", id: "a", set: {} }), view.list("note")];
    const errors = Promise.all(calls.map(errorOf));
    await until(() => server.seen.length === 3);
    controller.abort(reason);
    expect(await errors).toEqual([reason, reason, reason]);
    expect(await errorOf(view.get("note", "a"))).toBe(reason);
    expect(server.seen).toHaveLength(3);
  });

  test("rejects between two attempts, too", async () => {
    const { client } = await serverAnd((_, response) =>
      answerJson(response, 503, problem("overloaded", { retry_after: 20 })),
    );
    const signal = AbortSignal.timeout(50);
    const error = await errorOf(client.with({ signal }).put({ shape: "note", id: "a", set: {} }));
    expect(error).toBe(signal.reason);
  });

  test("leaves the calls of other views alone", async () => {
    const { client } = await serverAnd((_, response) => {
      setTimeout(() => answerJson(response, 200, written), 50);
    });
    const controller = new AbortController();
    const aborted = errorOf(client.with({ signal: controller.signal }).put({ shape: "note", id: "a", set: {} }));
    const other = client.put({ shape: "note", id: "b", set: {} });
    controller.abort();
    expect(await aborted).toBe(controller.signal.reason);
    expect(await other).toEqual(written);
  });
});

describe("a view of a client", () => {
  test("has a timeout of its own", async () => {
    const clock = new ManualClock();
    const { server, client } = await serverAnd(() => {}, { clock, retryFor: 0 });
    const impatient = errorOf(client.with({ timeout: 0.5 }).get("note", "a"));
    const patient = errorOf(client.get("note", "b"));
    await until(() => server.seen.length === 2);
    clock.advance(500);
    expect(String(await impatient)).toContain("no answer within 0.5 s");
    clock.advance(9500);
    expect(String(await patient)).toContain("no answer within 10 s");
    expect(() => client.with({ timeout: 0 })).toThrow(expect.objectContaining({ path: "timeout" }));
  });

  test("waits for a free connection no longer than its timeout, and what it gave up is never sent", async () => {
    const clock = new ManualClock();
    let release = (): void => {};
    const { server, client } = await serverAnd(
      ({ url }, response) => {
        if (url.endsWith("/first")) release = () => answerJson(response, 200, written);
        else answerJson(response, 200, written);
      },
      { clock, connections: 1, retryFor: 0 },
    );
    const first = client.put({ shape: "note", id: "first", set: {} });
    await until(() => server.seen.length === 1);
    const second = errorOf(client.with({ timeout: 1 }).put({ shape: "note", id: "second", set: {} }));
    const third = client.put({ shape: "note", id: "third", set: {} });
    clock.advance(1000);
    expect(await second).toMatchObject({ code: "unavailable" });
    release();
    expect(await Promise.all([first, third])).toEqual([written, written]);
    expect(server.seen.map(({ url }) => url.split("/").at(-1))).toEqual(["first", "third"]);
    expect(server.connections).toBe(1);
  });
});

describe("closing", () => {
  test("waits for requests in flight, and refuses later ones", async () => {
    const { server, client } = await serverAnd((_, response) => {
      setTimeout(() => answerJson(response, 200, written), 100);
    });
    const view = client.with({ timeout: 5 });
    const result = client.put({ shape: "note", id: "a", set: {} });
    await until(() => server.seen.length === 1);
    const closed = client.close();
    expect(client.close()).toBe(closed);
    expect(await result).toEqual(written);
    await closed;
    for (const store of [client, view]) {
      expect(await errorOf(store.get("note", "a"))).toBeInstanceOf(StoreClosedError);
      expect(await errorOf(store.put({ shape: "note", id: "a", set: {} }))).toBeInstanceOf(StoreClosedError);
      expect(await errorOf(store.waitFor("note", "a"))).toBeInstanceOf(StoreClosedError);
      expect(() => store.watch()).toThrow(StoreClosedError);
    }
  });

  test("sends nothing again, and tells what is known", async () => {
    const { server, client } = await serverAnd((_, response, attempt) =>
      attempt === 1 ? answerJson(response, 503, problem("overloaded", { retry_after: 20 })) : cut(response),
    );
    const refused = errorOf(client.put({ shape: "note", id: "a", set: {} }));
    await until(() => server.seen.length === 1);
    await sleep(20);
    await client.close();
    expect(await refused).toMatchObject({ code: "overloaded" });
    expect(server.seen).toHaveLength(1);
  });
});
