import { createServer } from "node:http";
import { PassThrough, pipeline, Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import express, { type Express, type Request, type Response } from "express";
import { describe, expect, it, vi } from "vitest";
import { expressIdempotency, idempotencyOf, keepRawBody } from "../../src/idempotency/index.js";
import { openScene } from "../tool-calls/scene.js";
import { begin, Gate, listen, type Sending, send, sendUntilSettled } from "./loopback.js";

const order = '{"item":"tea"}';
const keyed = (key: string, sending: Sending = {}): Sending => ({
  body: order,
  ...sending,
  headers: { "idempotency-key": key, ...sending.headers },
});

interface ServeOptions {
  readonly policy?: "review";
  readonly answerBytesMax?: number;
}

async function serve(
  routes: (app: Express) => void,
  options: ServeOptions = {},
  parse = express.json({ verify: keepRawBody }),
) {
  const scene = await openScene();
  const { calls } = scene.worker("A");
  const app = express();
  app.use(parse, expressIdempotency({ calls, callerOf: "single tenant", ...options }));
  routes(app);
  app.use((_error: unknown, _request: Request, response: Response, _next: unknown) => {
    response.status(500).send("it went wrong");
  });
  return { ...scene, calls, port: await listen(createServer(app)) };
}

describe("the Express middleware", () => {
  it("keeps answers that are written in any way", async () => {
    const ways: Record<string, (response: Response) => void> = {
      json: (response) => void response.status(201).json({ a: 1 }),
      pieces: (response) => {
        response.writeHead(202, { "Content-Type": "text/plain", ETag: '"p"' });
        response.flushHeaders();
        response.write("a");
        response.write(Buffer.from("b"), () => response.end("63", "hex"));
      },
      flat: (response) => {
        response.writeHead(200, "Fine", ["content-type", "text/plain", "Link", "<a>", "Link", "<b>"]);
        response.end("flat");
      },
      nothing: (response) => void response.sendStatus(204),
      encoded: (response) => void response.type("text/plain").end("gr\u00fcn", "latin1"),
      later: (response) => void setImmediate(() => response.end("later")),
      redirect: (response) => response.redirect(303, "/orders/7"),
    };
    const { port } = await serve((app) => {
      for (const [name, answer] of Object.entries(ways)) app.post(`/${name}`, (_request, response) => answer(response));
    });
    for (const name of Object.keys(ways)) {
      const path = `/${name}`;
      const first = await send(port, keyed(name, { path }));
      const again = await send(port, keyed(name, { path }));
      expect(first.headers).not.toHaveProperty("idempotent-replayed");
      expect(again.headers["idempotent-replayed"]).toBe("true");
      expect([again.status, again.bytes]).toEqual([first.status, first.bytes]);
      for (const header of ["content-type", "content-length", "etag", "link", "location"]) {
        expect(again.headers[header]).toEqual(first.headers[header]);
      }
    }
    expect((await send(port, keyed("pieces", { path: "/pieces" }))).bytes.toString()).toBe("abc");
    expect((await send(port, keyed("flat", { path: "/flat" }))).headers["link"]).toBe("<a>, <b>");
  });

  it("never enters the handler for a replay", async () => {
    const entered: string[] = [];
    const { port } = await serve((app) => {
      app.use((_request, _response, next) => {
        entered.push("after");
        next();
      });
      app.post("/orders", (_request, response) => void response.send("done"));
    });
    await send(port, keyed("k"));
    await send(port, keyed("k"));
    expect(entered).toEqual(["after"]);
  });

  it("gives the handler its call on the request", async () => {
    const { port } = await serve((app) => {
      app.post("/orders", (request, response) => {
        response.send(Reflect.get(request, "idempotency") === idempotencyOf(request) ? "same" : "not");
      });
    });
    expect((await send(port, keyed("k"))).bytes.toString()).toBe("same");
  });

  it("the first answer is the answer, also when an error comes after it", async () => {
    const { port } = await serve((app) => {
      app.post("/orders", (_request, response) => {
        response.status(201).send("first");
        response.end("second");
        throw new Error("too late");
      });
    });
    for (let count = 0; count < 2; count++) {
      const answer = await send(port, keyed("k"));
      expect([answer.status, answer.bytes.toString()]).toEqual([201, "first"]);
      expect(answer.headers["content-length"]).toBe("5");
    }
  });

  it("what is sent before an error is no outcome", async () => {
    let runs = 0;
    const { port } = await serve((app) => {
      app.post("/orders", (_request, response) => {
        runs += 1;
        response.write("half, ");
        if (runs === 1) throw new Error("it broke");
        response.end("whole");
      });
    });
    expect((await send(port, keyed("k"))).status).toBe(500);
    expect((await send(port, keyed("k"))).bytes.toString()).toBe("half, whole");
  });

  it("a path that nobody handles is answered as ever, and the answer is kept", async () => {
    const { port } = await serve(() => {});
    expect((await send(port, keyed("k"))).status).toBe(404);
    expect((await send(port, keyed("k"))).headers["idempotent-replayed"]).toBe("true");
  });

  it("tells a writer over the bound to wait until the head is out, and passes the rest through", async () => {
    const events: string[] = [];
    const { port } = await serve(
      (app) => {
        app.post("/orders", (_request, response) => {
          response.on("drain", () => {
            events.push("drain");
            response.end("c");
          });
          events.push(String(response.write("a".repeat(9))), String(response.write("b".repeat(9))));
        });
      },
      { answerBytesMax: 10 },
    );
    const first = await send(port, keyed("k"));
    expect(first.bytes.toString()).toBe(`${"a".repeat(9)}${"b".repeat(9)}c`);
    expect(events).toEqual(["true", "false", "drain"]);
    expect((await send(port, keyed("k"))).json).toMatchObject({ code: "answer_not_kept", original_status: 200 });
  });

  it("nobody hears that the client has gone before the answer is whole", async () => {
    const gate = new Gate();
    const body = new PassThrough();
    const events: string[] = [];
    const { port } = await serve((app) => {
      app.post("/orders", (request, response) => {
        request.socket.on("close", () => events.push("gone"));
        response.on("close", () => events.push("close"));
        pipeline(body, response, (error) => events.push(error === undefined || error === null ? "whole" : "cut"));
        body.write("first, ");
        gate.open();
      });
    });
    const first = begin(port, keyed("k"));
    await gate.opened;
    first.leave();
    await vi.waitUntil(() => events.includes("gone"));
    expect(events).toEqual(["gone"]);
    body.end("last");
    await vi.waitUntil(() => events.includes("close"));
    const again = await send(port, keyed("k"));
    expect([again.headers["idempotent-replayed"], again.bytes.toString()]).toEqual(["true", "first, last"]);
  });

  it("when its source breaks off and the client has gone, what became of the request is unknown", async () => {
    for (const order of ["client first", "source first"]) {
      const gate = new Gate();
      const body = new Readable({ read() {} });
      let closed = false;
      let socketClosed = false;
      const { port } = await serve(
        (app) => {
          app.post("/orders", (request, response) => {
            request.socket.on("close", () => {
              socketClosed = true;
            });
            response.on("close", () => {
              closed = true;
            });
            body.on("error", () => {});
            body.pipe(response);
            gate.open();
          });
        },
        { policy: "review" },
      );
      const first = begin(port, keyed("k"));
      await gate.opened;
      if (order === "source first") body.destroy(new Error("it broke"));
      first.leave();
      await vi.waitUntil(() => socketClosed);
      if (order === "client first") body.destroy(new Error("it broke"));
      await vi.waitUntil(() => closed);
      expect((await sendUntilSettled(port, keyed("k"))).json).toMatchObject({ code: "needs_review" });
    }
  });

  it("a response that its handler destroys ends the request: what became of it is unknown", async () => {
    async function* broken() {
      yield "half";
      throw new Error("it broke");
    }
    const ways: Record<string, (response: Response) => void> = {
      destroy: (response) => void response.destroy(),
      "destroy with an error": (response) => void response.destroy(new Error("it broke")),
      "destroy after a piece": (response) => {
        response.write("half");
        response.destroy();
      },
      "a generator that throws": (response) => void pipeline(broken, response, () => {}),
      "a stream that breaks": (response) => void pipeline(Readable.from(broken()), response, () => {}),
    };
    for (const [way, answer] of Object.entries(ways)) {
      let closed = false;
      const { port } = await serve(
        (app) =>
          void app.post("/orders", (_request, response) => {
            response.on("close", () => {
              closed = true;
            });
            answer(response);
          }),
        { policy: "review" },
      );
      await expect(send(port, keyed("k")), way).rejects.toThrow();
      expect((await sendUntilSettled(port, keyed("k"))).json, way).toMatchObject({ code: "needs_review" });
      expect(closed, way).toBe(true);
    }
  });

  it("a pipeline may begin, end and fail when the client has gone, whenever that was", async () => {
    for (const when of ["before the handler", "in the handler"]) {
      for (const fails of [false, true]) {
        const entered = new Gate();
        const gone = new Gate();
        const heard = { twice: false, after: false };
        const scene = await openScene();
        const { calls } = scene.worker("A");
        const app = express();
        app.use((request: Request, response: Response, next: () => void) => {
          request.socket.on("close", () => gone.open());
          let times = 0;
          response.on("close", () => {
            times += 1;
            if (times === 2) heard.twice = true;
          });
          next();
        });
        const callerOf = async (): Promise<string> => {
          if (when === "before the handler") {
            entered.open();
            await gone.opened;
            await turn();
          }
          return "ann";
        };
        app.use(express.json({ verify: keepRawBody }), expressIdempotency({ calls, callerOf, policy: "review" }));
        app.post("/orders", async (_request, response) => {
          entered.open();
          await gone.opened;
          await turn();
          response.on("close", () => {
            heard.after = true;
          });
          async function* parts() {
            yield "first, ";
            if (fails) throw new Error("it broke");
            yield "last";
          }
          pipeline(parts, response, () => {});
        });
        const port = await listen(createServer(app));
        const first = begin(port, keyed("k"));
        await entered.opened;
        first.leave();
        await gone.opened;
        const told = await sendUntilSettled(port, keyed("k"));
        expect(fails ? told.json["code"] : told.bytes.toString()).toBe(fails ? "needs_review" : "first, last");
        await vi.waitUntil(() => heard.after);
        expect(heard.twice).toBe(false);
      }
    }
  });

  it("a parser that keeps no bytes is the service's fault, a body that no parser takes the client's", async () => {
    let runs = 0;
    const routes = (app: Express) =>
      void app.post("/orders", (_request, response) => void response.send(String(++runs)));
    const careless = await serve(routes, {}, express.json());
    expect((await send(careless.port, keyed("k"))).status).toBe(500);
    const careful = await serve(routes);
    const text = keyed("k", { headers: { "content-type": "text/plain" } });
    expect(await send(careful.port, text)).toMatchObject({ status: 415, json: { code: "unsupported_media_type" } });
    expect(runs).toBe(0);
  });

  it("where it is mounted twice, the outer one counts", async () => {
    const { calls } = (await openScene()).worker("A");
    const twice = expressIdempotency({ calls, callerOf: "single tenant" });
    const { port } = await serve(
      (app) => void app.post("/orders", twice, (_request, response) => void response.send("done")),
    );
    expect((await send(port, keyed("k"))).bytes.toString()).toBe("done");
  });

  it("refuses bad options at once", async () => {
    const { calls } = (await openScene()).worker("A");
    expect(() => expressIdempotency({ calls } as never)).toThrow(/callerOf/);
    expect(() => expressIdempotency({ calls, callerOf: "single tenant", retries: 1 } as never)).toThrow(/retries/);
    expect(() => expressIdempotency({ calls, callerOf: "single tenant", pendingTtl: -1 })).toThrow(/pendingTtl/);
  });
});
