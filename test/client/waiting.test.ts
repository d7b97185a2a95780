import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, type ClientOptions, createClient, StoreClosedError } from "../../client/index.js";
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
  const client = createClient({ url: server.url, random: () => 0.1, ...options });
  ends.push(server.close, () => client.close());
  return { server, client };
}

const documentAt = (revision: number): object => ({ shape: "note", id: "a", fields: {}, revision });
const notFound = { code: "not_found", detail: "there is no such document" };

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect.fail(`must reject, but gave ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2);
}

describe("a wait", () => {
  test("asks the server to answer at the next change", async () => {
    const { server, client } = await serverAnd((_, response) => answerJson(response, 200, documentAt(8)));
    expect(await client.waitFor("note", "a", { after: 7, timeout: 2.5 })).toEqual({
      changed: true,
      document: documentAt(8),
    });
    expect(server.seen.map(({ url, headers }) => [url, headers["if-none-match"], headers["prefer"]])).toEqual([
      ["/v1/documents/note/a", '"7"', expect.stringMatching(/^wait=2\.(5|4\d\d)$/)],
    ]);
  });

  test("without a revision begins from the state at the call", async () => {
    const { server, client } = await serverAnd((_, response, attempt) => {
      if (attempt === 1) answerJson(response, 404, notFound);
      else answerJson(response, 200, documentAt(3));
    });
    expect(await client.waitFor("note", "a")).toEqual({ changed: true, document: documentAt(3) });
    expect(server.seen.map(({ headers }) => headers["if-none-match"])).toEqual([undefined, '"0"']);
  });

  test("without a revision is not overtaken by a later write", async () => {
    const order: string[] = [];
    const { client } = await serverAnd(({ method, headers }, response) => {
      const name = headers["prefer"] === undefined ? method : "wait";
      order.push(name);
      if (method === "PUT") answerJson(response, 200, { revision: 5, expires_at: null, created: true });
      else if (name === "wait") answerJson(response, 200, documentAt(5));
      else setTimeout(() => answerJson(response, 404, notFound), 50);
    });
    const changed = client.waitFor("note", "a");
    await client.put({ shape: "note", id: "a", set: {} });
    expect(await changed).toMatchObject({ changed: true });
    expect(order.indexOf("PUT")).toBeGreaterThan(order.indexOf("GET"));
  });

  test("tells of a document that went", async () => {
    const { client } = await serverAnd((_, response) => answerJson(response, 404, notFound));
    expect(await client.waitFor("note", "a", { after: 7 })).toEqual({ changed: true, document: null });
  });

  test("that sees no change reads the document at its end", async () => {
    const clock = new ManualClock();
    const { server, client } = await serverAnd(
      ({ headers }, response) => {
        if (headers["prefer"] === undefined) return answerJson(response, 200, documentAt(7));
        clock.advance(Number(headers["prefer"].slice("wait=".length)) * 1000);
        response.writeHead(304);
        response.end();
      },
      { clock },
    );
    expect(await client.waitFor("note", "a", { after: 7, timeout: 60 })).toEqual({
      changed: false,
      document: documentAt(7),
    });
    // Longer than one request may be silent, it is several.
    expect(server.seen.map(({ headers }) => headers["prefer"])).toEqual(["wait=25", "wait=25", "wait=10", undefined]);
  });

  test("that ends just when the document changes tells of the change", async () => {
    const clock = new ManualClock();
    const { client } = await serverAnd(
      ({ headers }, response) => {
        if (headers["prefer"] === undefined) return answerJson(response, 200, documentAt(8));
        clock.advance(1000);
        response.writeHead(304);
        response.end();
      },
      { clock },
    );
    expect(await client.waitFor("note", "a", { after: 7, timeout: 1 })).toEqual({
      changed: true,
      document: documentAt(8),
    });
  });

  test("of no seconds is a look at the document", async () => {
    const { server, client } = await serverAnd((_, response) => answerJson(response, 200, documentAt(7)));
    expect(await client.waitFor("note", "a", { after: 7, timeout: 0 })).toEqual({
      changed: false,
      document: documentAt(7),
    });
    expect(await client.waitFor("note", "a", { after: 6, timeout: 0 })).toEqual({
      changed: true,
      document: documentAt(7),
    });
    expect(server.seen.every(({ headers }) => headers["prefer"] === undefined)).toBe(true);
  });

  test("goes on when the connection is lost or the server restarts", async () => {
    const { server, client } = await serverAnd((_, response, attempt) => {
      if (attempt === 1) return cut(response);
      if (attempt === 2) return answerJson(response, 503, { code: "store_closed", detail: "closing" });
      if (attempt === 3) {
        // A server that drains answers early.
        response.writeHead(304, { connection: "close" });
        return response.end();
      }
      answerJson(response, 200, documentAt(8));
    });
    expect(await client.waitFor("note", "a", { after: 7 })).toMatchObject({ changed: true });
    expect(server.seen).toHaveLength(4);
  });

  test("does not ask a draining server again and again", async () => {
    const { server, client } = await serverAnd(
      ({ headers }, response) => {
        if (headers["prefer"] === undefined) return answerJson(response, 200, documentAt(7));
        response.writeHead(304);
        response.end();
      },
      { random: () => 0.9 },
    );
    expect(await client.waitFor("note", "a", { after: 7, timeout: 1 })).toMatchObject({ changed: false });
    expect(server.seen.length).toBeLessThan(10);
  });

  test("is unavailable when the server stays away", async () => {
    const { client } = await serverAnd((_, response) => cut(response), { retryFor: 0.1 });
    expect(await errorOf(client.waitFor("note", "a", { after: 7 }))).toMatchObject({ code: "unavailable" });
  });

  test("ends with the reason of its signal", async () => {
    const { server, client } = await serverAnd(() => {});
    const reason = new Error("enough");
    const controller = new AbortController();
    const errors = [
      errorOf(client.waitFor("note", "a", { after: 7, signal: controller.signal })),
      errorOf(client.with({ signal: controller.signal }).waitFor("note", "a")),
    ];
    await until(() => server.seen.length === 2);
    controller.abort(reason);
    expect(await Promise.all(errors)).toEqual([reason, reason]);
  });

  test("ends with a closing client", async () => {
    const { server, client } = await serverAnd(() => {});
    const error = errorOf(client.waitFor("note", "a", { after: 7 }));
    await until(() => server.seen.length === 1);
    await client.close();
    expect(await error).toBeInstanceOf(StoreClosedError);
  });

  test("keeps no write waiting, however many there are", async () => {
    const { server, client } = await serverAnd(
      ({ method }, response) => {
        if (method === "PUT") answerJson(response, 200, { revision: 5, expires_at: null, created: true });
      },
      { connections: 1 },
    );
    const waits = Array.from({ length: 50 }, () => errorOf(client.waitFor("note", "a", { after: 7 })));
    await until(() => server.seen.length === 50);
    expect(await client.put({ shape: "note", id: "b", set: {} })).toMatchObject({ revision: 5 });
    await client.close();
    expect((await Promise.all(waits)).every((error) => error instanceof StoreClosedError)).toBe(true);
  });
});
