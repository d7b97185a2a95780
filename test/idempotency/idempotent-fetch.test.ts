import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../src/base/manual-clock.js";
import { type FetchFunction, idempotentFetch, wasReplayed } from "../../src/idempotency/index.js";
import { openScene, outcomeOf } from "../tool-calls/scene.js";
import { Gate, listen } from "./loopback.js";
import { startFastify } from "./services.js";

interface Request {
  readonly key: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

type Reply = (response: ServerResponse, request: IncomingMessage) => void;

const status =
  (code: number, headers: Record<string, string> = {}, body = ""): Reply =>
  (response) => {
    response.writeHead(code, headers).end(body);
  };
const hangUp: Reply = (_response, request) => request.socket.destroy();

/** A server that answers what the test says, request by request; the last reply goes on. */
async function serve(...replies: Reply[]) {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const reply = replies[Math.min(requests.length, replies.length - 1)];
    const { "idempotency-key": key, "content-type": type } = request.headers;
    requests.push({ key: String(key), type, body: Buffer.concat(chunks).toString() });
    reply?.(response, request);
  });
  const port = await listen(server);
  return { requests, url: `http://127.0.0.1:${port}/charges` };
}

function underCall() {
  const abort = new AbortController();
  const state = { valid: true };
  const call = {
    key: "run-1/charge:7",
    headers: { "Idempotency-Key": "run-1/charge:7" },
    signal: abort.signal,
    isValid: () => state.valid,
  };
  return { call, abort, state };
}

/** A clock that moves as soon as somebody waits, and writes down for how long. */
class HastyClock extends ManualClock {
  readonly pauses: number[] = [];

  override setTimer(delayMs: number, callback: () => void): () => void {
    this.pauses.push(delayMs);
    const cancel = super.setTimer(delayMs, callback);
    setImmediate(() => this.advance(delayMs));
    return cancel;
  }
}

function hasty() {
  const clock = new HastyClock();
  return { clock, random: () => 0.5 };
}

const post = { method: "POST", body: "amount=7" };

describe("a fetch under a call", () => {
  it("sends the key, and the same key and body with every retry", async () => {
    const { requests, url } = await serve(hangUp, status(503), status(502), status(504), status(201, {}, "made"));
    const options = hasty();
    const response = await idempotentFetch(underCall().call, url, post, options);
    expect([response.status, await response.text()]).toEqual([201, "made"]);
    expect(requests).toHaveLength(5);
    for (const request of requests) expect(request).toMatchObject({ key: "run-1/charge:7", body: "amount=7" });
    expect(options.clock.pauses).toEqual([100, 200, 400, 800]);
  });

  it("says whether the answer is that of an earlier request", async () => {
    const { url } = await serve(status(201), status(201, { "Idempotent-Replayed": "true" }));
    expect(wasReplayed(await idempotentFetch(underCall().call, url, post))).toBe(false);
    expect(wasReplayed(await idempotentFetch(underCall().call, url, post))).toBe(true);
  });

  it("heeds Retry-After, in seconds and as a date, and gives the answer back that asks for too much", async () => {
    const options = hasty();
    const date = new Date(options.clock.wallNow() + 10_000).toUTCString();
    const { requests, url } = await serve(
      status(409, { "retry-after": "3" }),
      status(429, { "retry-after": date }),
      status(503, { "retry-after": "61" }),
    );
    expect((await idempotentFetch(underCall().call, url, post, options)).status).toBe(503);
    expect(options.clock.pauses).toEqual([3100, 7100]);
    expect(requests).toHaveLength(3);
  });

  it("gives back every other answer, and also a 409 that is no promise and a replay of any status", async () => {
    const finals: Reply[] = [
      status(200),
      status(400),
      status(409),
      status(422),
      status(500),
      status(409, { "retry-after": "1", "idempotent-replayed": "true" }),
      status(503, { "idempotent-replayed": "true" }),
    ];
    for (const final of finals) {
      const { requests, url } = await serve(final, status(299));
      expect((await idempotentFetch(underCall().call, url, post, hasty())).status).not.toBe(299);
      expect(requests).toHaveLength(1);
    }
  });

  it("ends after so many retries", async () => {
    const { requests, url } = await serve(status(503));
    expect((await idempotentFetch(underCall().call, url, post, { ...hasty(), retries: 2 })).status).toBe(503);
    expect(requests).toHaveLength(3);
    expect((await idempotentFetch(underCall().call, url, post, { retries: 0 })).status).toBe(503);
    expect(requests).toHaveLength(4);
  });

  it("what comes last is not taken for the whole story when an earlier try may have been carried out", async () => {
    for (const last of [status(429), hangUp]) {
      const { url } = await serve(hangUp, last);
      const ended = await outcomeOf(idempotentFetch(underCall().call, url, post, { ...hasty(), retries: 1 }));
      expect(ended).toMatchObject({ code: "outcome_unknown" });
    }
    const { url } = await serve(status(429), status(429));
    expect((await idempotentFetch(underCall().call, url, post, { ...hasty(), retries: 1 })).status).toBe(429);
  });

  it("a refusal that may come from before the key was looked up does not end the doubt about an earlier try", async () => {
    for (const refusal of [400, 401, 402, 403, 404, 405, 408, 410, 413, 415, 425, 429, 431]) {
      for (const doubtful of [hangUp, status(503), status(409, { "retry-after": "1" })]) {
        const { requests, url } = await serve(doubtful, status(refusal, {}, "no"));
        const ended = await outcomeOf(idempotentFetch(underCall().call, url, post, { ...hasty(), retries: 1 }));
        expect(ended).toMatchObject({ code: "outcome_unknown", cause: { status: refusal } });
        expect(Reflect.get(Object(ended), "message")).toContain(String(refusal));
        expect(requests).toHaveLength(2);
      }
      const { url } = await serve(status(refusal));
      expect((await idempotentFetch(underCall().call, url, post, { ...hasty(), retries: 0 })).status).toBe(refusal);
    }
  });

  it("an answer of who has looked the key up ends it", async () => {
    const replayed = { "idempotent-replayed": "true" };
    for (const last of [status(200), status(304), status(409), status(422), status(500), status(401, replayed)]) {
      const { url } = await serve(hangUp, last);
      expect((await idempotentFetch(underCall().call, url, post, hasty())).status).toBeGreaterThanOrEqual(200);
    }
  });

  it("a call whose effect was had before its token expired is not recorded as failed", async () => {
    let effects = 0;
    const { url } = await serve((response, request) => {
      effects += 1;
      hangUp(response, request);
    }, status(401));
    const { calls } = (await openScene()).worker("A");
    const name = { tool: "charge", args: { order: 7 } };
    await outcomeOf(
      calls.run({ ...name, policy: "review" }, async (call) => {
        const response = await idempotentFetch(call, url, post, hasty());
        if (!response.ok) throw Object.assign(new Error("not charged"), { status: response.status });
      }),
    );
    expect([effects, (await calls.get(name))?.fields.status]).toEqual([1, "unknown"]);
  });

  it("a try that never had a connection leaves nothing in doubt", async () => {
    const refused = Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } });
    const fetchThen = (last: () => Promise<Response>): FetchFunction => {
      let tries = 0;
      return () => (++tries === 1 ? Promise.reject(refused) : last());
    };
    const under = (fetch: FetchFunction) =>
      idempotentFetch(underCall().call, "http://127.0.0.1:1/", post, { ...hasty(), retries: 1, fetch });
    expect((await under(fetchThen(async () => new Response(null, { status: 401 })))).status).toBe(401);
    await expect(under(fetchThen(() => Promise.reject(refused)))).rejects.toBe(refused);
  });

  it("a fault of the network that stays is thrown as fetch throws it when nothing can have been carried out", async () => {
    const refused = Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } });
    const fetch: FetchFunction = () => Promise.reject(refused);
    const once = { ...hasty(), retries: 0, fetch };
    await expect(idempotentFetch(underCall().call, "http://127.0.0.1:1/", post, once)).rejects.toBe(refused);
  });

  it("sends nothing when the call has been aborted or its claim does not surely hold", async () => {
    const { requests, url } = await serve(status(200));
    const aborted = underCall();
    aborted.abort.abort(new Error("enough"));
    await expect(idempotentFetch(aborted.call, url, post)).rejects.toThrow("enough");
    const lapsed = underCall();
    lapsed.state.valid = false;
    await expect(idempotentFetch(lapsed.call, url, post)).rejects.toMatchObject({ code: "claim_lost" });
    expect(requests).toHaveLength(0);
  });

  it("does not retry once the claim has lapsed, and gives back what there is", async () => {
    const { call, state } = underCall();
    const { requests, url } = await serve((response) => {
      state.valid = false;
      response.writeHead(503).end();
    });
    expect((await idempotentFetch(call, url, post, hasty())).status).toBe(503);
    expect(requests).toHaveLength(1);
  });

  it("an abort ends the pause and the request, whether it is the call's or the caller's own", async () => {
    const { call, abort } = underCall();
    const own = new AbortController();
    const clock = new ManualClock();
    const { requests, url } = await serve(status(503));
    const pausing = outcomeOf(idempotentFetch(call, url, { ...post, signal: own.signal }, { clock }));
    await vi.waitUntil(() => clock.timerCount === 1);
    abort.abort(new Error("the call is over"));
    expect(await pausing).toMatchObject({ message: "the call is over" });
    expect([requests.length, clock.timerCount]).toEqual([1, 0]);
    const arrived = new Gate();
    const hanging = await serve(() => arrived.open());
    const flying = outcomeOf(
      idempotentFetch(underCall().call, hanging.url, { ...post, signal: own.signal }, { clock }),
    );
    await arrived.opened;
    own.abort(new Error("I have enough"));
    expect(await flying).toMatchObject({ message: "I have enough" });
  });

  it("refuses what can be sent only once, and a key that is not the call's", async () => {
    const { requests, url } = await serve(status(200));
    const { call } = underCall();
    const streams: unknown[] = [new ReadableStream(), Readable.from(["a"]), (async function* () {})()];
    for (const body of streams) {
      const init = { method: "POST", body, duplex: "half" } as RequestInit;
      await expect(idempotentFetch(call, url, init)).rejects.toMatchObject({ path: "init.body" });
    }
    const request = new Request(url, post);
    await expect(idempotentFetch(call, request)).rejects.toMatchObject({ path: "input" });
    const headers = { "idempotency-key": "other" };
    await expect(idempotentFetch(call, url, { ...post, headers })).rejects.toMatchObject({ path: "init.headers" });
    await expect(idempotentFetch(call, "/relative", post)).rejects.toThrow(TypeError);
    await expect(idempotentFetch(call, url, post, { retries: 21 })).rejects.toMatchObject({ path: "retries" });
    expect(requests).toHaveLength(0);
    const same = { "Idempotency-Key": call.headers["Idempotency-Key"] };
    expect((await idempotentFetch(call, url, { ...post, headers: same })).status).toBe(200);
  });

  it("sends the same bytes each time, also of a form and of a buffer that changes meanwhile", async () => {
    const form = new FormData();
    form.set("amount", "7");
    const bytes = Buffer.from("before");
    const bodies: [RequestInit["body"], RegExp][] = [
      [form, /^multipart\/form-data; boundary=/],
      [new URLSearchParams({ amount: "7" }), /^application\/x-www-form-urlencoded/],
      [new Blob(["blob"], { type: "text/x-blob" }), /^text\/x-blob$/],
      [bytes, /^undefined$/],
    ];
    for (const [body, type] of bodies) {
      const { requests, url } = await serve((response) => {
        bytes.write("behind");
        response.writeHead(503).end();
      }, status(200));
      await idempotentFetch(underCall().call, url, { method: "POST", body: body ?? null }, hasty());
      expect(requests).toHaveLength(2);
      expect(requests[1]).toEqual(requests[0]);
      expect(String(requests[0]?.type)).toMatch(type);
    }
  });

  it("a request without a body may be given as a Request, with its own headers", async () => {
    const { requests, url } = await serve(status(503), status(200));
    const request = new Request(url, { method: "POST", headers: { "content-type": "x/y" } });
    expect((await idempotentFetch(underCall().call, request, {}, hasty())).status).toBe(200);
    expect(requests).toMatchObject([
      { key: "run-1/charge:7", type: "x/y" },
      { key: "run-1/charge:7", type: "x/y" },
    ]);
  });

  it("from a tool to a service with its own store, an effect is one however often the tool is run", async () => {
    const here = await openScene();
    const there = await openScene();
    let charges = 0;
    const port = await startFastify(
      (call) => {
        charges += 1;
        return { status: 201, body: `charged under ${call?.idempotencyKey}` };
      },
      { calls: there.worker("service").calls },
    );
    const { calls } = here.worker("agent");
    const replays: boolean[] = [];
    const charge = () =>
      calls.run({ tool: "charge", args: { amount: 7 } }, async (call) => {
        const headers = { "x-caller": "agent" };
        const response = await idempotentFetch(call, `http://127.0.0.1:${port}/charges`, { ...post, headers });
        replays.push(wasReplayed(response));
        // The tool dies after its effect, once.
        if (replays.length === 1) throw new Error("it broke");
        return response.text();
      });
    await outcomeOf(charge());
    const outcome = await charge();
    expect(outcome.result).toBe(`charged under ${outcome.key}`);
    expect(outcome.attempt).toBe(2);
    expect(replays).toEqual([false, true]);
    expect(charges).toBe(1);
  });
});
