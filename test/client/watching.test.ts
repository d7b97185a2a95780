import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, type ClientOptions, type Commit, createClient, StoreClosedError } from "../../client/index.js";
import { type ErrorCode, errorTable } from "../../src/base/errors.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { type Answer, answerJson, cut, type FaultyServer, startFaultyServer } from "./faulty-server.js";

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
  const client = createClient({ url: server.url, random: () => 0.01, ...options });
  ends.push(server.close, () => client.close());
  return { server, client };
}

/** Begins a stream at a revision, as the server does. */
function begin(response: ServerResponse, revision: number): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  bookmark(response, revision);
}

function bookmark(response: ServerResponse, revision: number): void {
  response.write(`event: bookmark\nid: ${revision}\ndata: {"revision":${revision},"changes":[]}\n\n`);
}

function commit(response: ServerResponse, revision: number, text = ""): void {
  const document = { shape: "note", id: "a", fields: { text }, revision };
  const data = JSON.stringify({ revision, changes: [{ type: "put", shape: "note", id: "a", document }] });
  response.write(`id: ${revision}\ndata: ${data}\n\n`);
}

function problem(code: ErrorCode, more: object = {}): object {
  return { code, status: errorTable[code].status, detail: "because", ...more };
}

async function take(watch: AsyncIterable<Commit>, count: number): Promise<number[]> {
  const revisions: number[] = [];
  for await (const { revision } of watch) {
    revisions.push(revision);
    if (revisions.length === count) break;
  }
  return revisions;
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect.fail(`must reject, but gave ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2);
}

describe("a watch", () => {
  test("yields commits and bookmarks, but not the one that says where the stream begins", async () => {
    const { client } = await serverAnd((_, response) => {
      begin(response, 4);
      commit(response, 5);
      response.write(":\n\n");
      bookmark(response, 8);
      commit(response, 9);
    });
    const commits: Commit[] = [];
    for await (const one of client.watch({ shape: "note" })) {
      commits.push(one);
      if (commits.length === 3) break;
    }
    expect(commits.map(({ revision, changes }) => [revision, changes.length])).toEqual([
      [5, 1],
      [8, 0],
      [9, 1],
    ]);
  });

  test("asks for what it was told to watch", async () => {
    const { server, client } = await serverAnd((_, response) => begin(response, 0), { token: "t-1" });
    const watches = [
      client.watch(),
      client.watch({ shape: "note", id: "a/b", since: 3 }),
      client.watch({ shape: "note", prefix: "50%\u0000", since: 0 }),
    ];
    await until(() => server.seen.length === 3);
    for (const watch of watches) await watch[Symbol.asyncIterator]().return?.();
    expect(server.seen.map(({ url }) => url).sort()).toEqual([
      "/v1/changes",
      "/v1/changes?shape=note&id=a%2Fb&since=3",
      "/v1/changes?shape=note&prefix=50%25%00&since=0",
    ]);
    expect(server.seen[0]?.headers).toMatchObject({ accept: "text/event-stream", authorization: "Bearer t-1" });
  });

  test("begins at the call: later calls wait until it is known where that is", async () => {
    const order: string[] = [];
    const { client } = await serverAnd(({ method }, response) => {
      order.push(`${method} arrives`);
      if (method === "PUT") return answerJson(response, 200, { revision: 6, expires_at: null, created: true });
      setTimeout(() => {
        order.push("the watch begins");
        begin(response, 5);
        setTimeout(() => commit(response, 6), 20);
      }, 50);
    });
    const watch = client.watch();
    await client.put({ shape: "note", id: "a", set: {} });
    expect(order).toEqual(["GET arrives", "the watch begins", "PUT arrives"]);
    expect(await take(watch, 1)).toEqual([6]);
  });

  test("that does not begin fails openly before later calls go on without it", async () => {
    const clock = new ManualClock();
    const { client, server } = await serverAnd(
      ({ method }, response) => {
        if (method === "PUT") answerJson(response, 200, { revision: 6, expires_at: null, created: true });
      },
      { clock, timeout: 60 },
    );
    const watch = client.watch();
    const written = client.put({ shape: "note", id: "a", set: {} });
    await until(() => server.seen.length === 1);
    clock.advance(2000);
    expect(await written).toMatchObject({ revision: 6 });
    expect(await errorOf(take(watch, 1))).toMatchObject({ code: "unavailable" });
  });

  test("continues after a lost connection where it was, and yields every commit once", async () => {
    const last = 200;
    const { server, client } = await serverAnd(({ url }, response, attempt) => {
      const since = Number(new URL(url, "http://a").searchParams.get("since"));
      begin(response, since);
      const upTo = Math.min(last, since + 10);
      for (let revision = since + 1; revision <= upTo; revision++) commit(response, revision);
      // Half of the next commit goes out, too; sometimes the stream ends in good order.
      if (attempt % 2 === 0) response.end();
      else response.write(`id: ${upTo + 1}\ndata: {"rev`, () => cut(response));
    });
    const revisions = await take(client.watch({ since: 0 }), last);
    expect(revisions).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    expect(server.seen.length).toBeGreaterThanOrEqual(20);
  });

  test("passes commits over that a server repeats", async () => {
    const { client } = await serverAnd((_, response, attempt) => {
      begin(response, attempt === 1 ? 4 : 3);
      for (const revision of attempt === 1 ? [5, 6] : [4, 5, 6, 7]) commit(response, revision);
      if (attempt === 1) setImmediate(() => cut(response));
    });
    expect(await take(client.watch(), 3)).toEqual([5, 6, 7]);
  });

  test("waits out a server that is restarting", async () => {
    const { server, client } = await serverAnd((_, response, attempt) => {
      if (attempt === 1) begin(response, 4);
      if (attempt === 1 || attempt === 2) return cut(response);
      if (attempt === 3) return answerJson(response, 503, problem("store_closed"));
      if (attempt === 4) {
        response.writeHead(502, { "content-type": "text/html" });
        return response.end("<h1>Bad gateway</h1>");
      }
      begin(response, 4);
      commit(response, 5);
    });
    expect(await take(client.watch({ since: 4 }), 1)).toEqual([5]);
    expect(server.seen).toHaveLength(5);
  });

  test("ends as unavailable when there was no contact for the time of retrying", async () => {
    const { server, client } = await serverAnd(
      (_, response, attempt) => {
        if (attempt === 1) {
          begin(response, 4);
          commit(response, 5);
        }
        setImmediate(() => cut(response));
      },
      { retryFor: 0.2, random: () => 0.5 },
    );
    const watch = client.watch()[Symbol.asyncIterator]();
    expect(await watch.next()).toMatchObject({ value: { revision: 5 } });
    const error = await errorOf(watch.next());
    expect(error).toMatchObject({ code: "unavailable" });
    expect(String(error)).toContain(`127.0.0.1:${server.port}`);
    expect(await watch.next()).toEqual({ done: true, value: undefined });
  });

  test.each([
    ["revision_compacted", 410],
    ["revision_unknown", 400],
    ["unauthorized", 401],
    ["forbidden", 403],
  ] as const)("throws %s, answered instead of a stream", async (code, status) => {
    const { server, client } = await serverAnd((_, response) => answerJson(response, status, problem(code)));
    expect(await errorOf(take(client.watch({ since: 1 }), 1))).toMatchObject({ code, status });
    expect(server.seen).toHaveLength(1);
  });

  test("throws an error that comes in the stream, after the commits before it", async () => {
    const { client } = await serverAnd((_, response) => {
      begin(response, 4);
      commit(response, 5);
      response.end(`event: error\ndata: ${JSON.stringify(problem("revision_compacted"))}\n\n`);
    });
    const watch = client.watch()[Symbol.asyncIterator]();
    await sleep(30);
    expect(await watch.next()).toMatchObject({ value: { revision: 5 } });
    expect(await errorOf(watch.next())).toMatchObject({ code: "revision_compacted" });
    expect(await watch.next()).toEqual({ done: true, value: undefined });
  });

  test("connects again when the stream says that its server closes", async () => {
    const { client } = await serverAnd((_, response, attempt) => {
      begin(response, 4);
      if (attempt > 1) commit(response, 5);
      else response.end(`event: error\ndata: ${JSON.stringify(problem("store_closed"))}\n\n`);
    });
    expect(await take(client.watch(), 1)).toEqual([5]);
  });

  test("does not take for a stream what is none", async () => {
    const { client } = await serverAnd(
      (_, response) => {
        response.writeHead(200, { "content-type": "text/html" });
        response.end("<h1>Welcome</h1>");
      },
      { retryFor: 0 },
    );
    expect(await errorOf(take(client.watch(), 1))).toMatchObject({ code: "unavailable" });
  });

  test("takes 45 s of silence for a dead connection", async () => {
    const clock = new ManualClock();
    const { server, client } = await serverAnd(
      (_, response, attempt) => {
        begin(response, 4);
        if (attempt === 2) commit(response, 5);
      },
      { clock },
    );
    const watch = client.watch({ since: 4 })[Symbol.asyncIterator]();
    const next = watch.next();
    await until(() => server.seen.length === 1);
    await sleep(50);
    clock.advance(44_999);
    await sleep(20);
    expect(server.seen).toHaveLength(1);
    clock.advance(1);
    clock.advance(100);
    expect(await next).toMatchObject({ value: { revision: 5 } });
    await watch.return?.();
  });

  test("gives up on a stream that does not begin, and tries again", async () => {
    const clock = new ManualClock();
    const { server, client } = await serverAnd(
      (_, response, attempt) => {
        if (attempt === 1) return;
        begin(response, 4);
        commit(response, 5);
      },
      { clock, timeout: 3 },
    );
    const next = take(client.watch({ since: 4 }), 1);
    await until(() => server.seen.length === 1);
    clock.advance(3000);
    clock.advance(100);
    expect(await next).toEqual([5]);
  });
});

describe("a consumer that is slow", () => {
  test("holds the server back, and still gets everything", async () => {
    const count = 4000;
    let written = 0;
    const { client } = await serverAnd(async (_, response) => {
      begin(response, 0);
      for (let revision = 1; revision <= count; revision++) {
        commit(response, revision, "x".repeat(10_000));
        written = revision;
        if (response.writableNeedDrain) await new Promise((resolve) => response.once("drain", resolve));
      }
    });
    const watch = client.watch();
    // 40 MB would come if nothing held them back; the buffers of the sockets take a part of them.
    for (let before = -1; before !== written; await sleep(300)) before = written;
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(count / 2);
    expect(await take(watch, count)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  });

  test("is not read ahead of by connecting again and again", async () => {
    const last = 400;
    const { server, client } = await serverAnd(({ url }, response) => {
      const since = Number(new URL(url, "http://a").searchParams.get("since"));
      begin(response, since);
      for (let revision = since + 1; revision <= Math.min(last, since + 40); revision++) {
        commit(response, revision, "x".repeat(10_000));
      }
      response.end();
    });
    const watch = client.watch({ since: 0 });
    await sleep(300);
    expect(server.seen).toHaveLength(1);
    expect(await take(watch, last)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
  });
});

describe("a watch ends", () => {
  test("with its consumer's loop, and closes the connection", async () => {
    let closed = false;
    const { client } = await serverAnd((_, response) => {
      response.on("close", () => {
        closed = true;
      });
      begin(response, 4);
      commit(response, 5);
    });
    const watch = client.watch();
    expect(await take(watch, 1)).toEqual([5]);
    await until(() => closed);
    expect(await watch[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
  });

  test("with the reason of its signal, before, while and after it waits", async () => {
    const { client } = await serverAnd((_, response) => {
      begin(response, 4);
      commit(response, 5);
      commit(response, 6);
    });
    const reason = new Error("enough");
    expect(await errorOf(take(client.watch({ signal: AbortSignal.abort(reason) }), 1))).toBe(reason);

    const controller = new AbortController();
    const watch = client.watch({ signal: controller.signal })[Symbol.asyncIterator]();
    expect(await watch.next()).toMatchObject({ value: { revision: 5 } });
    expect(await watch.next()).toMatchObject({ value: { revision: 6 } });
    const [third, fourth] = [errorOf(watch.next()), watch.next()];
    controller.abort(reason);
    expect(await third).toBe(reason);
    expect(await fourth).toEqual({ done: true, value: undefined });

    const view = client.with({ signal: controller.signal });
    expect(await errorOf(take(view.watch(), 1))).toBe(reason);
  });

  test("while it waits to connect again", async () => {
    const { client } = await serverAnd((_, response) =>
      answerJson(response, 503, problem("overloaded", { retry_after: 20 })),
    );
    const signal = AbortSignal.timeout(50);
    expect(await errorOf(take(client.watch({ since: 1, signal }), 1))).toBe(signal.reason);
  });

  test("with a closing client", async () => {
    const { client } = await serverAnd((_, response) => begin(response, 4));
    const next = errorOf(take(client.watch(), 1));
    await sleep(20);
    await client.close();
    expect(await next).toBeInstanceOf(StoreClosedError);
  });
});
