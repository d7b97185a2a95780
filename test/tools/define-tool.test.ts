import { Type } from "typebox";
import { Value } from "typebox/value";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, guardTool } from "../../src/tools/index.js";
import { openScene, outcomeOf } from "../tool-calls/scene.js";
import { Mailbox } from "./tool-scene.js";

const define = (members: object) => () =>
  defineTool({ name: "pay", args: z.object({}), effect: "writes", execute: () => 1, ...members } as never);

describe("a definition", () => {
  it("is refused with the member that is wrong", () => {
    const wrong: readonly [object, string][] = [
      [{ name: "" }, "name"],
      [{ name: 1 }, "name"],
      [{ description: 1 }, "description"],
      [{ args: { type: "object" } }, "args"],
      [{ args: undefined }, "args"],
      [{ effect: undefined }, "effect"],
      [{ effect: "deletes" }, "effect"],
      [{ mechanism: "hope" }, "mechanism"],
      [{ mechanism: [] }, "mechanism"],
      [{ wraps: [1] }, "wraps"],
      [{ key: "order" }, "key"],
      [{ scope: 1 }, "scope"],
      [{ policy: "retry" }, "policy"],
      [{ marks: "yes" }, "marks"],
      [{ reconcile: "ask" }, "reconcile"],
      [{ classify: {} }, "classify"],
      [{ times: { ttl: 1 } }, "times.ttl"],
      [{ execute: undefined }, "execute"],
      [{ parameters: {} }, "parameters"],
    ];
    for (const [members, path] of wrong) {
      expect(define(members), JSON.stringify(members)).toThrow(
        expect.objectContaining({ code: "invalid_request", path }),
      );
    }
    expect(define({})).not.toThrow();
  });

  it("may not fire again what cannot be undone, unless the other side drops the second fire", () => {
    const refire = { effect: "irreversible", policy: "refire" };
    for (const mechanism of [undefined, "none", "store", "saga"]) {
      expect(define({ ...refire, mechanism })).toThrow(expect.objectContaining({ path: "policy" }));
    }
    for (const mechanism of ["downstream_key", "content", "transaction"]) {
      expect(define({ ...refire, mechanism })).not.toThrow();
    }
  });
});

describe("a tool that is executed without a guard", () => {
  it("does not fire when it has side effects: dispatch is not permission", async () => {
    const { sent, tool } = new Mailbox();
    expect(await outcomeOf(tool.execute({ to: "ann@example.com", subject: "hi" }))).toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("guardTools"),
    });
    expect(sent).toEqual([]);
  });

  it("is validated and entered when it only reads, with its framework's options and signal", async () => {
    const tool = defineTool({
      name: "get_weather",
      args: z.object({ city: z.string(), days: z.number().default(3) }),
      effect: "reads",
      execute: ({ city, days }, { options, signal }) => ({ city, days, options, aborted: signal?.aborted }),
    });
    const options = { abortSignal: AbortSignal.abort() };
    expect(await tool.execute({ city: "Ulm" }, options)).toEqual({ city: "Ulm", days: 3, options, aborted: true });
    expect(await outcomeOf(tool.execute({ city: 7 } as never))).toMatchObject({ path: "args.city" });
  });

  it("is found by frameworks under the names that they look for", () => {
    const { tool } = new Mailbox();
    expect(tool).toMatchObject({ name: "send_email", description: "Sends a mail.", inputSchema: tool.args });
    expect(Object.isFrozen(tool)).toBe(true);
  });
});

describe("arguments", () => {
  it("that are not valid fire nothing and claim nothing, whichever library judges them", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A");
    const boxed = Type.Object({ to: Type.String(), items: Type.Array(Type.Object({ price: Type.Number() })) });
    const schemas = {
      zod: z.object({ to: z.string(), items: z.array(z.object({ price: z.number() })) }),
      valibot: v.object({ to: v.string(), items: v.array(v.object({ price: v.number() })) }),
      typebox: {
        "~standard": {
          version: 1,
          vendor: "typebox",
          validate: (value: unknown) =>
            Value.Check(boxed, value)
              ? { value }
              : {
                  issues: Value.Errors(boxed, value).map(({ instancePath, message }) => ({
                    message,
                    path: instancePath.split("/").slice(1),
                  })),
                },
        },
      },
    } as const;
    for (const [library, args] of Object.entries(schemas)) {
      let fires = 0;
      const tool = guardTool(
        defineTool({ name: `pay_${library}`, args, effect: "writes", key: () => "one", execute: () => ++fires }),
        calls,
      );
      const wrong = outcomeOf(tool.execute({ to: "ann", items: [{ price: "free" }] } as never, { scope: "turn" }));
      expect(await wrong, library).toMatchObject({
        code: "invalid_request",
        path: library === "typebox" ? `args.items["0"].price` : "args.items[0].price",
      });
      expect(fires).toBe(0);
      expect((await store.list("tool-call")).documents).toEqual([]);
    }
  });

  it("are judged before a replay, too", async () => {
    const { worker } = await openScene();
    const args = z.object({ order: z.number() });
    const tool = defineTool({ name: "pay", args, effect: "writes", key: () => "one", execute: () => "paid" });
    const { execute } = guardTool(tool, worker("A").calls);
    await execute({ order: 7 });
    expect(await outcomeOf(execute({ order: "7" } as never))).toMatchObject({ path: "args.order" });
    expect(await execute({ order: 7 })).toMatchObject({ result: "paid", was_replay: true });
  });

  it("are all named in one message, as far as a model reads", async () => {
    const { worker } = await openScene();
    const args = z.object(Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`m${index}`, z.string()])));
    const tool = defineTool({ name: "pay", args, effect: "writes", execute: () => 1 });
    const { calls } = worker("A");
    const refused = await outcomeOf(guardTool(tool, calls).execute({} as never, { scope: "turn" }));
    expect(refused).toMatchObject({ path: "args.m0", message: expect.stringMatching(/args\.m9: .*; and 4 more$/) });
  });

  it("are judged by a schema that takes its time, and one that throws says so", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const known = z.object({ to: z.string().refine(async (to) => to === "ann", "is nobody we know") });
    const tool = guardTool(
      defineTool({ name: "pay", args: known, effect: "writes", execute: ({ to }) => `paid ${to}` }),
      calls,
    );
    expect(await outcomeOf(tool.execute({ to: "bob" }, { scope: "t" }))).toMatchObject({
      path: "args.to",
      message: "args.to: is nobody we know",
    });
    expect(await tool.execute({ to: "ann" }, { scope: "t" })).toMatchObject({ result: "paid ann" });
    const broken = new Error("the directory is down");
    const failures = [
      () => Promise.reject(broken),
      () => {
        throw broken;
      },
    ];
    for (const validate of failures) {
      const args = { "~standard": { version: 1, vendor: "own", validate } } as const;
      const failing = guardTool(defineTool({ name: "pay", args, effect: "writes", execute: () => 1 }), calls);
      expect(await outcomeOf(failing.execute({ to: "ann" }, { scope: "t" }))).toMatchObject({
        code: "invalid_request",
        cause: broken,
      });
    }
  });

  it("are compared as the schema gives them: a default that is spelled out is the same call", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const { execute } = guardTool(box.tool, worker("A").calls, { scope: "turn-1" });
    const first = await execute({ to: " Ann@Example.com ", subject: "hi" });
    const again = await execute({ to: "ann@example.com", subject: "hi", urgent: false });
    expect([first.was_replay, again.was_replay]).toEqual([false, true]);
    expect(box.sent).toHaveLength(1);
  });

  it("may be Dates, which the tool gets and the key holds as text", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const got: unknown[] = [];
    const tool = defineTool({
      name: "book",
      args: z.object({ when: z.iso.datetime().transform((text) => new Date(text)) }),
      effect: "writes",
      scope: null,
      execute: ({ when }, call) => got.push(when, call.args),
    });
    const { execute } = guardTool(tool, calls);
    await execute({ when: "2026-05-01T10:00:00Z" });
    expect(await execute({ when: "2026-05-01T10:00:00.000Z" })).toMatchObject({ was_replay: true });
    expect(await execute({ when: "2026-05-02T10:00:00Z" })).toMatchObject({ was_replay: false });
    expect(got.slice(0, 2)).toEqual([new Date("2026-05-01T10:00:00Z"), { when: "2026-05-01T10:00:00.000Z" }]);
  });

  it("that are neither JSON nor Dates are refused with their path: two different ones would fall together", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const values = [
      new Map(),
      7n,
      new Date(Number.NaN),
      Number.NaN,
      [undefined],
      new Array(1),
      loop,
      Object.create({ a: 1 }),
    ];
    for (const value of values) {
      const args = z.object({ part: z.any() });
      const tool = guardTool(defineTool({ name: "pay", args, effect: "writes", execute: () => 1 }), calls);
      expect(await outcomeOf(tool.execute({ part: value }, { scope: "t" }))).toMatchObject({
        code: "invalid_request",
        path: expect.stringMatching(/^args\.part/),
      });
    }
  });

  it("cannot be changed by anybody while the call waits", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const seen: unknown[] = [];
    const tool = { name: "pay", execute: (args: { to: string[] }) => seen.push(args.to) };
    const args = { to: ["ann"] };
    const paying = guardTool(tool, calls).execute(args, { scope: "t" });
    args.to.push("eve");
    await paying;
    expect(seen).toEqual([["ann"]]);
  });
});
