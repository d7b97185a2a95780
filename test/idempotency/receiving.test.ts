import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { storedAnswer } from "../../src/idempotency/index.js";
import { openScene } from "../tool-calls/scene.js";
import { begin, Gate, type Sending, send } from "./loopback.js";
import { type Handler, type HandlerAnswer, type ServiceOptions, startExpress, startFastify } from "./services.js";

const frameworks = [
  { framework: "Fastify", start: startFastify },
  { framework: "Express", start: startExpress },
];

const order = '{"item": "tea"}';

function keyed(key: string, sending: Sending = {}): Sending {
  const { headers = {}, ...rest } = sending;
  return { body: order, ...rest, headers: { "idempotency-key": key, "x-caller": "ann", ...headers } };
}

/** A handler that counts, and answers what the test says, call by call; the last answer goes on. */
class Script {
  runs = 0;
  readonly #answers: readonly (() => HandlerAnswer | Promise<HandlerAnswer>)[];

  constructor(...answers: (() => HandlerAnswer | Promise<HandlerAnswer>)[]) {
    this.#answers = answers;
  }

  readonly handler: Handler = () => {
    const answer = this.#answers[Math.min(this.runs, this.#answers.length - 1)];
    this.runs += 1;
    if (answer === undefined) throw new Error("no answer is left");
    return answer();
  };
}

const created = (body: HandlerAnswer["body"] = "made") => ({ status: 201, body });

describe.each(frameworks)("behind $framework", ({ start }) => {
  async function service(handler: Handler, options: Partial<ServiceOptions> = {}, worker = "A") {
    const scene = await openScene();
    const { calls, network } = scene.worker(worker);
    return { ...scene, calls, network, port: await start(handler, { calls, ...options }) };
  }

  it("a repeated request gets the first answer, byte by byte, and the handler runs once", async () => {
    const bytes = Buffer.from([0, 255, 254, 13, 10, 0x80, 0xc3, 0x28]);
    const headers = { location: "/orders/7", etag: '"v1"', "set-cookie": "s=1", "x-trace": "t", "content-type": "x/y" };
    const script = new Script(() => ({ status: 201, headers, body: bytes }));
    const { port } = await service(script.handler);
    const first = await send(port, keyed("k"));
    expect(first).toMatchObject({ status: 201, bytes, headers: { location: "/orders/7", "set-cookie": ["s=1"] } });
    expect(first.headers).not.toHaveProperty("idempotent-replayed");
    const again = await send(port, keyed("k"));
    expect(again.bytes).toEqual(first.bytes);
    expect(again.status).toBe(201);
    for (const name of ["location", "etag", "content-type", "content-length"]) {
      expect(again.headers[name]).toBe(first.headers[name]);
    }
    expect(again.headers["idempotent-replayed"]).toBe("true");
    expect(again.headers).not.toHaveProperty("set-cookie");
    expect(again.headers).not.toHaveProperty("x-trace");
    expect(script.runs).toBe(1);
  });

  it("text, empty bodies and streams are replayed as they were", async () => {
    const bodies: Record<string, () => HandlerAnswer> = {
      text: () => created("\ufeffgr\u00fcn\u0000\ud83c\udf75"),
      json: () => ({ status: 200, headers: { "content-type": "application/json" }, body: '{"a":1}' }),
      empty: () => ({ status: 204, body: "" }),
      stream: () => created(Readable.from([Buffer.from("a"), Buffer.from("b")])),
    };
    for (const [key, answer] of Object.entries(bodies)) {
      const script = new Script(answer);
      const { port } = await service(script.handler);
      const first = await send(port, keyed(key));
      const again = await send(port, keyed(key));
      expect(again.bytes).toEqual(first.bytes);
      expect([again.status, again.headers["content-type"]]).toEqual([first.status, first.headers["content-type"]]);
      expect(script.runs).toBe(1);
    }
  });

  it("added headers are kept, too", async () => {
    const { port } = await service(() => ({ status: 200, headers: { "x-order": "7" }, body: "" }), {
      keptHeaders: ["X-Order"],
    });
    await send(port, keyed("k"));
    expect((await send(port, keyed("k"))).headers["x-order"]).toBe("7");
  });

  it("a quoted key and a bare one are the same key", async () => {
    const script = new Script(() => created());
    const { port } = await service(script.handler);
    await send(port, keyed('"a\\"b"'));
    expect((await send(port, keyed('a"b'))).headers["idempotent-replayed"]).toBe("true");
    expect(script.runs).toBe(1);
  });

  it("a key that is missing, malformed, too long or given twice is answered with 400", async () => {
    const script = new Script(() => created());
    const { port } = await service(script.handler);
    const sendings = [
      { body: order, headers: { "x-caller": "ann" } },
      keyed('"open'),
      keyed('""'),
      keyed('"a";b=1'),
      keyed("k".repeat(256)),
      keyed("", { headers: { "idempotency-key": ["a", "a"] } }),
    ];
    for (const sending of sendings) {
      const answer = await send(port, sending);
      expect(answer).toMatchObject({ status: 400, json: { code: "invalid_request" } });
      expect(answer.headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    }
    expect(script.runs).toBe(0);
    expect((await send(port, keyed("k".repeat(255)))).status).toBe(201);
  });

  it("PATCH is covered, and GET, PUT and DELETE pass through", async () => {
    const script = new Script(() => ({ status: 200, body: "done" }));
    const { port } = await service(script.handler);
    expect((await send(port, { method: "PATCH", body: order, headers: { "x-caller": "ann" } })).status).toBe(400);
    expect((await send(port, keyed("k", { method: "PATCH" }))).status).toBe(200);
    expect((await send(port, keyed("k", { method: "PATCH" }))).headers["idempotent-replayed"]).toBe("true");
    expect(script.runs).toBe(1);
    for (const method of ["GET", "PUT", "DELETE"]) expect((await send(port, { method })).status).toBe(200);
    expect(script.runs).toBe(4);
  });

  it("another request under the same key is refused with 422, whatever of it differs", async () => {
    const script = new Script(() => created());
    const { port } = await service(script.handler);
    await send(port, keyed("k", { path: "/orders?a=1&b=2" }));
    const others: Sending[] = [
      { path: "/orders?a=1&b=2", body: '{"item":"tea"}' },
      { path: "/orders?b=2&a=1" },
      { path: "/orders" },
      { path: "/refunds?a=1&b=2" },
      { path: "/orders?a=1&b=2", method: "PATCH" },
      { path: "/orders?a=1&b=2", headers: { "content-type": "application/json; charset=utf-8" } },
    ];
    for (const other of others) {
      expect(await send(port, keyed("k", other))).toMatchObject({
        status: 422,
        json: { code: "idempotency_conflict" },
      });
    }
    expect(script.runs).toBe(1);
    expect((await send(port, keyed("k", { path: "/orders?a=1&b=2" }))).status).toBe(201);
  });

  it("a request without a body has one that is compared: none", async () => {
    const script = new Script(() => created());
    const { port } = await service(script.handler);
    const headers = { "idempotency-key": "k", "x-caller": "ann" };
    expect((await send(port, { headers })).status).toBe(201);
    expect((await send(port, { headers })).headers["idempotent-replayed"]).toBe("true");
    expect((await send(port, keyed("k"))).status).toBe(422);
  });

  it("another caller's same key is another key, and a caller whom nobody knows is refused", async () => {
    const script = new Script(
      () => created("for ann"),
      () => created("for bob"),
    );
    const { port } = await service(script.handler);
    expect((await send(port, keyed("k"))).bytes.toString()).toBe("for ann");
    expect((await send(port, keyed("k", { headers: { "x-caller": "bob" } }))).bytes.toString()).toBe("for bob");
    expect((await send(port, keyed("k"))).bytes.toString()).toBe("for ann");
    expect(await send(port, { body: order, headers: { "idempotency-key": "k" } })).toMatchObject({ status: 401 });
    expect(script.runs).toBe(2);
  });

  it("of two at once one runs, and the other is told when to come again", async () => {
    const gate = new Gate();
    const script = new Script(() => gate.opened.then(() => created()));
    const { port } = await service(script.handler);
    const first = begin(port, keyed("k"));
    await vi.waitUntil(() => script.runs === 1);
    const second = await send(port, keyed("k"));
    expect(second).toMatchObject({ status: 409, json: { code: "call_in_flight", retry_after: 5 } });
    expect(second.headers["retry-after"]).toBe("5");
    expect(second.bytes.toString()).not.toMatch(/owner|http-request/);
    gate.open();
    expect((await first.answer).status).toBe(201);
    expect((await send(port, keyed("k"))).headers["idempotent-replayed"]).toBe("true");
    expect(script.runs).toBe(1);
  });

  it("where it waits, the other one gets the same answer", async () => {
    const gate = new Gate();
    const script = new Script(() => gate.opened.then(() => created()));
    const { port } = await service(script.handler, { waitTimeout: 30 });
    const flights = [begin(port, keyed("k")), begin(port, keyed("k")), begin(port, keyed("k"))];
    await vi.waitUntil(() => script.runs === 1);
    gate.open();
    const answers = await Promise.all(flights.map(({ answer }) => answer));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(answers.filter(({ headers }) => headers["idempotent-replayed"] === "true")).toHaveLength(2);
    expect(script.runs).toBe(1);
  });

  it("a client that goes away half way ends nothing: its answer is there when it comes back", async () => {
    const gate = new Gate();
    const script = new Script(() => gate.opened.then(() => created("late but whole")));
    const { port } = await service(script.handler);
    const first = begin(port, keyed("k"));
    await vi.waitUntil(() => script.runs === 1);
    first.leave();
    await first.answer.catch(() => {});
    expect((await send(port, keyed("k"))).status).toBe(409);
    gate.open();
    const again = await vi.waitUntil(async () => {
      const answer = await send(port, keyed("k"));
      return answer.status === 409 ? undefined : answer;
    });
    expect(again).toMatchObject({ status: 201, headers: { "idempotent-replayed": "true" } });
    expect(again.bytes.toString()).toBe("late but whole");
    expect(script.runs).toBe(1);
  });

  it("a stream is read to its end though its reader has gone", async () => {
    const gate = new Gate();
    async function* parts() {
      yield Buffer.from("first, ");
      await gate.opened;
      yield Buffer.from("last");
    }
    const script = new Script(() => created(Readable.from(parts())));
    const { port } = await service(script.handler);
    const first = begin(port, keyed("k"));
    await vi.waitUntil(() => script.runs === 1);
    for (let turns = 0; turns < 5; turns++) await turn();
    first.leave();
    await first.answer.catch(() => {});
    gate.open();
    const again = await vi.waitUntil(async () => {
      const answer = await send(port, keyed("k"));
      return answer.status === 409 ? undefined : answer;
    });
    expect([again.status, again.bytes.toString()]).toEqual([201, "first, last"]);
    expect(script.runs).toBe(1);
  });

  it("a refusal by the handler is an outcome and is replayed", async () => {
    const script = new Script(() => ({ status: 402, body: "no money" }));
    const { port } = await service(script.handler);
    for (const replayed of [undefined, "true"]) {
      const answer = await send(port, keyed("k"));
      expect([answer.status, answer.bytes.toString()]).toEqual([402, "no money"]);
      expect(answer.headers["idempotent-replayed"]).toBe(replayed);
    }
    expect(script.runs).toBe(1);
  });

  it("429 and 425 say that nothing was done, and are not kept under any policy", async () => {
    const script = new Script(
      () => ({ status: 429, body: "later" }),
      () => ({ status: 425, body: "too early" }),
      () => created(),
    );
    const { port } = await service(script.handler, { policy: "review" });
    const statuses: number[] = [];
    for (let count = 0; count < 4; count++) statuses.push((await send(port, keyed("k"))).status);
    expect(statuses).toEqual([429, 425, 201, 201]);
    expect(script.runs).toBe(3);
  });

  it("after a 5xx the policy decides: under refire the next request runs, with the key bound to the same payload", async () => {
    const script = new Script(
      () => ({ status: 503, body: "down" }),
      () => Promise.reject(new Error("it broke")),
      () => created(),
    );
    const { port } = await service(script.handler);
    expect((await send(port, keyed("k"))).status).toBe(503);
    expect((await send(port, keyed("k", { body: "{}" }))).status).toBe(422);
    expect((await send(port, keyed("k"))).status).toBe(500);
    expect((await send(port, keyed("k"))).status).toBe(201);
    expect((await send(port, keyed("k"))).headers["idempotent-replayed"]).toBe("true");
    expect(script.runs).toBe(3);
  });

  it("under review nobody runs after a 5xx until somebody has said what became of it", async () => {
    const script = new Script(() => Promise.reject(new Error("it broke")));
    const { port, calls } = await service(script.handler, { policy: "review" });
    expect((await send(port, keyed("k"))).status).toBe(500);
    const told = await send(port, keyed("k"));
    expect(told).toMatchObject({ status: 409, json: { code: "needs_review" } });
    expect(told.headers).not.toHaveProperty("retry-after");
    const { calls: records } = await calls.list();
    const result = storedAnswer({ status: 201, headers: { Location: "/orders/7" }, body: "found it" });
    await calls.resolve(records[0]?.id ?? "", { result }, { by: "ann" });
    const answer = await send(port, keyed("k"));
    expect(answer).toMatchObject({ status: 201, headers: { location: "/orders/7", "idempotent-replayed": "true" } });
    expect(answer.bytes.toString()).toBe("found it");
    expect(script.runs).toBe(1);
  });

  it("a classifier may say what a status means here", async () => {
    const script = new Script(() => ({ status: 500, body: "rolled back" }));
    const { port } = await service(script.handler, {
      classify: ({ status }) => (status === 500 ? "stored" : undefined),
    });
    await send(port, keyed("k"));
    expect((await send(port, keyed("k"))).headers["idempotent-replayed"]).toBe("true");
    expect(script.runs).toBe(1);
  });

  it("a handler that marks its effect is free to run again until it has marked it", async () => {
    let runs = 0;
    const handler: Handler = async (call) => {
      runs += 1;
      if (runs > 1) await call?.fired();
      throw new Error("it broke");
    };
    const { port } = await service(handler, { policy: "review", marks: true });
    expect((await send(port, keyed("k"))).status).toBe(500);
    expect((await send(port, keyed("k"))).status).toBe(500);
    expect((await send(port, keyed("k"))).json).toMatchObject({ code: "needs_review" });
    expect(runs).toBe(2);
  });

  it("a handler whose mark could not be written has not had its effect, whatever status its error is given", async () => {
    for (const status of [500, 409]) {
      let runs = 0;
      const handler: Handler = async (call) => {
        runs += 1;
        try {
          await call?.fired();
        } catch {
          return { status, body: "not now" };
        }
        return created();
      };
      const { port, network } = await service(handler, { policy: "review", marks: true });
      network.fault("renew", "unreachable", 3);
      expect((await send(port, keyed("k"))).status).toBe(status);
      expect((await send(port, keyed("k"))).status).toBe(201);
      expect(runs).toBe(2);
    }
  });

  it("an answer over the bound goes out whole and is not kept, but that it was given is", async () => {
    const big = Buffer.alloc(3000, "x");
    const bodies = [
      () => big,
      () => Readable.from([big.subarray(0, 1500), big.subarray(1500, 2999), big.subarray(2999)]),
    ];
    for (const body of bodies) {
      const script = new Script(() => ({ status: 201, headers: { location: "/orders/7" }, body: body() }));
      const { port } = await service(script.handler, { answerBytesMax: 2000 });
      const first = await send(port, keyed("k"));
      expect([first.status, first.bytes.equals(big)]).toEqual([201, true]);
      const again = await send(port, keyed("k"));
      expect(again).toMatchObject({
        status: 409,
        json: { code: "answer_not_kept", original_status: 201, original_headers: { location: "/orders/7" } },
      });
      expect(again.headers["idempotent-replayed"]).toBe("true");
      expect(again.headers).not.toHaveProperty("retry-after");
      expect(script.runs).toBe(1);
    }
  });

  it("a large request is compared as a whole", async () => {
    const script = new Script(() => created());
    const { port } = await service(script.handler);
    const body = Buffer.alloc(90_000, 7);
    const headers = { "content-type": "application/octet-stream" };
    expect((await send(port, keyed("k", { headers, body }))).status).toBe(201);
    const other = Buffer.from(body);
    other[89_999] = 8;
    expect((await send(port, keyed("k", { headers, body: other }))).status).toBe(422);
    expect((await send(port, keyed("k", { headers, body }))).headers["idempotent-replayed"]).toBe("true");
  });

  it("when the first process has died its claim lapses, and the policy decides", async () => {
    for (const [policy, status] of [
      ["refire", 201],
      ["review", 409],
    ] as const) {
      const scene = await openScene();
      const dead = scene.worker("dead");
      let lostRuns = 0;
      const lost = await start(
        () => {
          lostRuns += 1;
          return new Promise<never>(() => {});
        },
        { calls: dead.calls, policy, pendingTtl: 30 },
      );
      const flight = begin(lost, keyed("k"));
      await vi.waitUntil(() => lostRuns === 1);
      dead.network.down = true;
      flight.leave();
      const seen: (number | undefined)[] = [];
      const port = await start(
        (call) => {
          seen.push(call?.attempt);
          return created();
        },
        { calls: scene.worker("B").calls, policy, pendingTtl: 30 },
      );
      expect((await send(port, keyed("k"))).headers["retry-after"]).toBe("5");
      await scene.advance(28);
      // Sooner than usual, since the claim lapses sooner.
      expect(await send(port, keyed("k"))).toMatchObject({
        json: { code: "call_in_flight" },
        headers: { "retry-after": "2" },
      });
      await scene.advance(3);
      expect((await send(port, keyed("k"))).status).toBe(status);
      expect(seen).toEqual(policy === "refire" ? [2] : []);
    }
  });

  it("an answer that comes when another worker has taken over does not count, and the right one is there to be asked for", async () => {
    const scene = await openScene();
    const slow = scene.worker("slow");
    const gate = new Gate();
    const script = new Script(() =>
      gate.opened.then(() => ({ status: 201, headers: { location: "/mine" }, body: "mine" })),
    );
    const port = await start(script.handler, { calls: slow.calls, pendingTtl: 30 });
    const first = begin(port, keyed("k"));
    await vi.waitUntil(() => script.runs === 1);
    slow.network.down = true;
    await scene.advance(31);
    slow.network.down = false;
    const other = await start(() => created("theirs"), { calls: scene.worker("B").calls, pendingTtl: 30 });
    expect((await send(other, keyed("k"))).bytes.toString()).toBe("theirs");
    gate.open();
    const answer = await first.answer;
    expect(answer).toMatchObject({ status: 409, json: { code: "claim_lost", retry_after: 1 } });
    expect(answer.headers).not.toHaveProperty("location");
    expect((await send(port, keyed("k"))).bytes.toString()).toBe("theirs");
  });

  it("the claim is held for as long as the handler runs", async () => {
    const gate = new Gate();
    const script = new Script(() => gate.opened.then(() => created()));
    const { port, advance } = await service(script.handler, { pendingTtl: 30 });
    const first = begin(port, keyed("k"));
    await vi.waitUntil(() => script.runs === 1);
    await advance(300);
    expect((await send(port, keyed("k"))).json).toMatchObject({ code: "call_in_flight" });
    gate.open();
    expect((await first.answer).status).toBe(201);
    expect(script.runs).toBe(1);
  });

  it("a handler that takes too long is not waited for by the next client, and what it answers after all is kept", async () => {
    const gate = new Gate();
    const script = new Script(() => gate.opened.then(() => created()));
    const { port, advance } = await service(script.handler, { pendingTtl: 30, maxRunTime: 60, policy: "review" });
    const first = begin(port, keyed("k"));
    await vi.waitUntil(() => script.runs === 1);
    await advance(120);
    expect((await send(port, keyed("k"))).json).toMatchObject({ code: "needs_review" });
    gate.open();
    expect((await first.answer).json).toMatchObject({ code: "claim_lost", retry_after: 1 });
    expect((await send(port, keyed("k"))).headers["idempotent-replayed"]).toBe("true");
    expect(script.runs).toBe(1);
  });

  it("closing the calls waits for handlers that run, and takes no more requests", async () => {
    const gate = new Gate();
    const script = new Script(() => gate.opened.then(() => created()));
    const { port, calls } = await service(script.handler);
    const first = begin(port, keyed("k"));
    await vi.waitUntil(() => script.runs === 1);
    let closed = false;
    const closing = calls.close().then(() => {
      closed = true;
    });
    expect((await send(port, keyed("other"))).json).toMatchObject({ status: 503, code: "store_closed" });
    expect(closed).toBe(false);
    gate.open();
    expect((await first.answer).headers).not.toHaveProperty("idempotent-persisted");
    await closing;
  });

  it("without the store nothing is done, and what was done before it went is said to be unsure", async () => {
    const gate = new Gate();
    const script = new Script(() => gate.opened.then(() => created()));
    const { port, network, advance } = await service(script.handler);
    network.down = true;
    const refused = await send(port, keyed("k"));
    expect(refused).toMatchObject({ status: 503, json: { code: "unavailable" } });
    expect(refused.headers["retry-after"]).toBe("1");
    expect(script.runs).toBe(0);
    network.down = false;
    const first = begin(port, keyed("k"));
    await vi.waitUntil(() => script.runs === 1);
    network.down = true;
    gate.open();
    const answer = await first.answer;
    expect(answer).toMatchObject({ status: 201, headers: { "idempotent-persisted": "false" } });
    network.down = false;
    await advance(1);
    expect((await send(port, keyed("k"))).headers["idempotent-replayed"]).toBe("true");
    expect(script.runs).toBe(1);
  });

  it("the handler gets the call under which it runs", async () => {
    const seen: unknown[] = [];
    const { port } = await service((call) => {
      seen.push({
        idempotencyKey: call?.idempotencyKey,
        key: call?.key,
        attempt: call?.attempt,
        header: call?.headers["Idempotency-Key"],
        valid: call?.isValid(),
        token: typeof call?.fencingToken,
      });
      return created();
    });
    await send(port, keyed('"k"'));
    const key = "ann/http-request:k";
    expect(seen).toEqual([{ idempotencyKey: "k", key, attempt: 1, header: key, valid: true, token: "number" }]);
  });

  it("a caller whose name makes no record's id is the service's fault, and not the request's", async () => {
    const script = new Script(() => created());
    const { port } = await service(script.handler);
    expect((await send(port, keyed("k", { headers: { "x-caller": "a".repeat(1100) } }))).status).toBe(500);
    expect(script.runs).toBe(0);
  });
});
