import { PassThrough, pipeline, Readable } from "node:stream";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { describe, expect, it } from "vitest";
import { fastifyIdempotency, idempotencyOf } from "../../src/idempotency/index.js";
import { openScene } from "../tool-calls/scene.js";
import { begin, Gate, listen, type Sending, send, sendUntilSettled } from "./loopback.js";

const order = '{"item":"tea"}';
const keyed = (key: string, sending: Sending = {}): Sending => ({
  body: order,
  ...sending,
  headers: { "idempotency-key": key, ...sending.headers },
});

async function serve(routes: (app: FastifyInstance) => void, options: { readonly policy?: "review" } = {}) {
  const scene = await openScene();
  const { calls } = scene.worker("A");
  const app = fastify();
  app.register(fastifyIdempotency, { calls, callerOf: "single tenant", ...options });
  app.register(async (scope) => routes(scope));
  await app.ready();
  return { ...scene, calls, port: await listen(app.server) };
}

describe("the Fastify plugin", () => {
  it("covers the routes that are registered after it, and only where it is registered", async () => {
    const { calls } = (await openScene()).worker("A");
    const app = fastify();
    app.register(async (scope) => {
      await scope.register(fastifyIdempotency, { calls, callerOf: "single tenant" });
      scope.post("/inside", async () => "done");
    });
    app.post("/outside", async () => "done");
    await app.ready();
    const port = await listen(app.server);
    expect((await send(port, { path: "/inside" })).status).toBe(400);
    expect((await send(port, { path: "/outside" })).status).toBe(200);
  });

  it("gives the handler its call on the request", async () => {
    const { port } = await serve((app) => {
      app.post("/orders", async (request) => {
        const call: unknown = Reflect.get(request, "idempotency");
        return { same: call === idempotencyOf(request), key: idempotencyOf(request)?.idempotencyKey };
      });
      app.get("/orders", async (request) => ({ call: Reflect.get(request, "idempotency") }));
    });
    expect((await send(port, keyed("k"))).json).toEqual({ same: true, key: "k" });
    expect((await send(port, { method: "GET" })).json).toEqual({ call: null });
  });

  it("what is refused before the handler is not remembered: not what validation refuses, nor the parser", async () => {
    let runs = 0;
    const { port, calls } = await serve((app) => {
      const body = { type: "object", required: ["item"] };
      app.post("/orders", { schema: { body }, bodyLimit: 100 }, async () => {
        runs += 1;
        return "done";
      });
    });
    expect((await send(port, keyed("k", { body: "{}" }))).status).toBe(400);
    expect((await send(port, keyed("k", { body: "{" }))).status).toBe(400);
    expect((await send(port, keyed("k", { body: JSON.stringify("x".repeat(200)) }))).status).toBe(413);
    expect((await send(port, keyed("k", { headers: { "content-type": "text/xml" } }))).status).toBe(415);
    expect((await calls.list()).calls).toEqual([]);
    expect((await send(port, keyed("k"))).status).toBe(200);
    expect(runs).toBe(1);
  });

  it("asks for the rule of each request", async () => {
    const { calls } = (await openScene()).worker("A");
    const app = fastify();
    app.register(fastifyIdempotency, {
      calls,
      callerOf: "single tenant",
      keys: (request: FastifyRequest) => (request.url === "/search" ? "ignored" : "optional"),
    });
    let runs = 0;
    app.register(async (scope) => {
      scope.post("/*", async () => String(++runs));
    });
    await app.ready();
    const port = await listen(app.server);
    const path = "/search";
    await send(port, keyed("k", { path }));
    expect((await send(port, keyed("k", { path }))).bytes.toString()).toBe("2");
    expect((await send(port, { path: "/orders" })).bytes.toString()).toBe("3");
    await send(port, keyed("k"));
    expect((await send(port, keyed("k"))).bytes.toString()).toBe("4");
  });

  it("takes functions of its own request, with their parameter typed or not", async () => {
    const { calls } = (await openScene()).worker("A");
    const app = fastify();
    app.register(fastifyIdempotency, { calls, callerOf: (request) => request.raw.url });
    app.register(fastifyIdempotency, { calls, callerOf: async ({ hostname }: FastifyRequest) => hostname, tool: "b" });
    // @ts-expect-error a caller is a text
    const wrong = (): unknown => app.register(fastifyIdempotency, { calls, callerOf: () => 7 });
    expect(wrong).toBeTypeOf("function");
  });

  it("keeps what was sent before the handler's promise ended, and answers of other kinds", async () => {
    const { port } = await serve((app) => {
      app.post("/sent", (_request, reply) => {
        reply.code(202).send({ ok: true });
      });
      app.post("/web", async () => new Response("web", { status: 203, headers: { etag: '"w"' } }));
      app.post("/bytes", async (_request, reply) => reply.send(new Uint8Array([1, 2, 3])));
      app.post("/passing", async (_request, reply) => {
        const body = new PassThrough();
        body.end("through");
        return reply.type("text/plain").send(body);
      });
    });
    for (const path of ["/sent", "/web", "/bytes", "/passing"]) {
      const first = await send(port, keyed(path, { path }));
      const again = await send(port, keyed(path, { path }));
      expect(first.status).toBeLessThan(300);
      expect(again.headers["idempotent-replayed"]).toBe("true");
      expect([again.status, again.bytes, again.headers["etag"]]).toEqual([
        first.status,
        first.bytes,
        first.headers["etag"],
      ]);
      expect(again.headers["content-type"]).toBe(first.headers["content-type"]);
    }
  });

  it("hooks on answers see a replay as they saw the first answer", async () => {
    const { port } = await serve((app) => {
      app.addHook("onSend", async (_request, reply, payload) => {
        reply.header("x-length", Buffer.from(String(payload)).byteLength);
        return `${payload}!`;
      });
      app.post("/orders", async () => "done");
    });
    for (let count = 0; count < 2; count++) {
      const answer = await send(port, keyed("k"));
      expect([answer.bytes.toString(), answer.headers["x-length"]]).toEqual(["done!", "4"]);
    }
  });

  it("a stream that breaks off becomes an error, and no outcome", async () => {
    let runs = 0;
    const { port } = await serve((app) => {
      app.post("/orders", async (_request, reply) => {
        runs += 1;
        async function* broken() {
          yield "half";
          if (runs === 1) throw new Error("it broke");
        }
        return reply.send(Readable.from(broken()));
      });
    });
    expect((await send(port, keyed("k"))).status).toBe(500);
    expect((await send(port, keyed("k"))).bytes.toString()).toBe("half");
    expect(runs).toBe(2);
  });

  it("an answer that is given past Fastify cannot be stored: what became of the request is unknown", async () => {
    const { port } = await serve(
      (app) => {
        app.post("/orders", (_request, reply) => {
          reply.hijack();
          reply.raw.end("past it");
        });
      },
      { policy: "review" },
    );
    expect((await send(port, keyed("k"))).bytes.toString()).toBe("past it");
    expect((await send(port, keyed("k"))).json).toMatchObject({ code: "needs_review" });
  });

  it("a response that its handler destroys ends the request: what became of it is unknown", async () => {
    const ways: Record<string, (reply: FastifyReply) => void> = {
      hijacked: (reply) => {
        reply.hijack();
        reply.raw.destroy();
      },
      "never answered": (reply) => void reply.raw.destroy(new Error("it broke")),
      "a generator that throws": (reply) => {
        reply.hijack();
        async function* broken() {
          yield "half";
          throw new Error("it broke");
        }
        pipeline(broken, reply.raw, () => {});
      },
    };
    for (const [way, answer] of Object.entries(ways)) {
      const { port } = await serve((app) => void app.post("/orders", (_request, reply) => answer(reply)), {
        policy: "review",
      });
      await expect(send(port, keyed("k")), way).rejects.toThrow();
      expect((await sendUntilSettled(port, keyed("k"))).json, way).toMatchObject({ code: "needs_review" });
    }
  });

  it("an answer that is given past Fastify ends the request also when the client has gone, and its going does not", async () => {
    const entered = new Gate();
    const gone = new Gate();
    const gate = new Gate();
    const { port } = await serve(
      (app) => {
        app.post("/orders", (_request, reply) => {
          reply.hijack();
          reply.raw.on("close", () => gone.open());
          void gate.opened.then(() => reply.raw.end("past it"));
          entered.open();
        });
      },
      { policy: "review" },
    );
    const first = begin(port, keyed("k"));
    await entered.opened;
    first.leave();
    await gone.opened;
    expect((await send(port, keyed("k"))).json).toMatchObject({ code: "call_in_flight" });
    gate.open();
    expect((await sendUntilSettled(port, keyed("k"))).json).toMatchObject({ code: "needs_review" });
  });

  it("a handler that writes past Fastify and answers all the same harms its own connection only", async () => {
    const { port } = await serve((app) => {
      app.post("/orders", (_request, reply) => {
        reply.raw.write("past it");
        reply.send("and not");
      });
      app.post("/other", async () => "well");
    });
    await expect(send(port, keyed("k"))).rejects.toThrow();
    expect((await send(port, keyed("k2", { path: "/other" }))).bytes.toString()).toBe("well");
  });

  it("a body that its parser leaves unread is not compared, and so not accepted", async () => {
    let runs = 0;
    const { port } = await serve((app) => {
      app.addContentTypeParser("multipart/form-data", (_request, _payload, done) => done(null));
      app.post("/orders", async () => String(++runs));
    });
    const upload = keyed("k", { headers: { "content-type": "multipart/form-data" }, body: "x".repeat(100_000) });
    expect((await send(port, upload)).status).toBe(500);
    expect(runs).toBe(0);
  });

  it("refuses bad options when it is registered", async () => {
    const { calls } = (await openScene()).worker("A");
    const good = { calls, callerOf: "single tenant" } as const;
    const bad: readonly (readonly [string, object])[] = [
      ["calls", { callerOf: "single tenant" }],
      ["callerOf", { calls }],
      ["callerOf", { calls, callerOf: "everybody" }],
      ["methods[0]", { ...good, methods: ["GET"] }],
      ["keys", { ...good, keys: "always" }],
      ["keptHeaders[0]", { ...good, keptHeaders: ["Set-Cookie"] }],
      ["keptHeaders[1]", { ...good, keptHeaders: ["x-a", "no header"] }],
      ["answerBytesMax", { ...good, answerBytesMax: 1_000_000 }],
      ["tool", { ...good, tool: "" }],
      ["marks", { ...good, marks: 1 }],
      ["header", { ...good, header: "X-Key" }],
      ["pendingTtl", { ...good, pendingTtl: -1 }],
      ["completedTtl", { ...good, pendingTtl: 60, completedTtl: 30 }],
      ["policy", { ...good, policy: "retry" }],
    ];
    for (const [path, options] of bad) {
      const app = fastify();
      app.register(fastifyIdempotency, options as never);
      await expect(app.ready()).rejects.toMatchObject({ code: "invalid_request", path });
    }
  });
});
