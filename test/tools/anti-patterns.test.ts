import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, guardTool, guardTools } from "../../src/tools/index.js";
import { momentNear } from "../../src/tools/stable-key.js";
import { openScene, outcomeOf } from "../tool-calls/scene.js";
import { Mailbox } from "./tool-scene.js";

const hi = { to: "ann@example.com", subject: "hi" };

/** A tool with that key and scope, and how often it fired. */
async function payingBy(rule: { readonly key?: () => string; readonly scope?: string | null | (() => string) }) {
  const { worker, clock, store } = await openScene();
  let fires = 0;
  const tool = defineTool({
    name: "pay",
    args: z.object({ order: z.number(), since: z.string().optional() }),
    effect: "irreversible",
    ...rule,
    execute: () => ++fires,
  });
  const { execute } = guardTool(tool, worker("A").calls, { clock });
  return { execute, clock, store, fires: () => fires };
}

describe("a key that is made inside the tool", () => {
  it("does not exist: the tool gets the one that its caller could name before the call", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const { calls } = worker("A");
    const key = calls.keyOf({ tool: "send_email", args: { ...hi, urgent: false }, scope: "turn-1" });
    await guardTool(box.tool, calls, { scope: "turn-1" }).execute(hi);
    expect(box.sent.map((mail) => mail.key)).toEqual([key]);
  });

  it("is not the model's either: one that it mints for every try changes nothing", async () => {
    const { worker } = await openScene();
    const keys: unknown[] = [];
    const tool = {
      name: "send_email",
      execute: (args: { to: string; idempotency_key: string }) => keys.push(args.idempotency_key),
    };
    const { execute } = guardTool(tool, worker("A").calls, { scope: "turn-1" });
    expect(await execute({ to: "ann", idempotency_key: "1" })).toMatchObject({ was_replay: false });
    expect(await execute({ to: "ann", idempotency_key: "2" })).toMatchObject({ was_replay: true });
    expect(keys).toEqual(["1"]);
  });

  it("is the client's own where the tool says so", async () => {
    const { worker } = await openScene();
    const tool = defineTool({
      name: "send_email",
      args: z.object({ to: z.string(), idempotency_key: z.string() }),
      effect: "irreversible",
      key: (args) => args.idempotency_key,
      execute: (_, call) => call.key,
    });
    const { execute } = guardTool(tool, worker("A").calls);
    expect(await execute({ to: "ann", idempotency_key: "k1" })).toMatchObject({ result: "send_email:k1" });
    expect(await outcomeOf(execute({ to: "bob", idempotency_key: "k1" }))).toMatchObject({
      code: "idempotency_conflict",
    });
  });
});

describe("a key that changes from try to try", () => {
  it("is refused when it is random", async () => {
    for (const member of ["key", "scope"] as const) {
      const { execute, fires, store } = await payingBy({ [member]: () => crypto.randomUUID() });
      expect(await outcomeOf(execute({ order: 7 }))).toMatchObject({ code: "invalid_request", path: member });
      expect(fires()).toBe(0);
      expect((await store.list("tool-call")).documents).toEqual([]);
    }
  });

  it("is refused when it contains the time, in milliseconds, in seconds or as a text", async () => {
    const times = [
      (now: number) => `order-7-${now}`,
      (now: number) => `${Math.floor(now / 1000) - 100}`,
      (now: number) => `order-7 ${new Date(now + 1000).toISOString()}`,
      (now: number) => new Date(now).toISOString().slice(0, 16),
    ];
    for (const time of times) {
      let now = 0;
      const { execute, clock, fires } = await payingBy({ key: () => time(now) });
      now = clock.wallNow();
      expect(await outcomeOf(execute({ order: 7 }))).toMatchObject({
        path: "key",
        message: expect.stringContaining("contains the time"),
      });
      expect(fires()).toBe(0);
    }
  });

  it("is let through where the moment is the caller's, or none of now", async () => {
    const now = Date.UTC(2026, 0, 1);
    const since = new Date(now).toISOString();
    const { execute } = await payingBy({ key: () => `since ${since}` });
    expect(await execute({ order: 7, since })).toMatchObject({ was_replay: false });
    for (const text of ["order-1234567890123", "2026-01-01", "1767225600000000", "order-7", "2025-12-31T00:00"]) {
      expect(momentNear(text, "{}", now), text).toBeUndefined();
    }
  });

  it("is refused when it is empty or no text", async () => {
    for (const key of ["", undefined, 7]) {
      const { execute } = await payingBy({ key: () => key as never });
      expect(await outcomeOf(execute({ order: 7 }))).toMatchObject({ code: "invalid_request", path: "key" });
    }
  });

  it("cannot come in by a default of the schema", async () => {
    const { worker } = await openScene();
    let fires = 0;
    const tool = defineTool({
      name: "pay",
      args: z.object({ order: z.number(), request_id: z.string().default(() => crypto.randomUUID()) }),
      effect: "writes",
      execute: () => ++fires,
    });
    const { execute } = guardTool(tool, worker("A").calls, { scope: "turn-1" });
    expect(await outcomeOf(execute({ order: 7 }))).toMatchObject({
      path: "args",
      message: expect.stringContaining("made anew"),
    });
    expect(await execute({ order: 7, request_id: "r1" })).toMatchObject({ result: 1 });
  });

  it("cannot come in by a default that is the time, also where the clock stands still for a while", async () => {
    const { worker, clock } = await openScene();
    const at = () => new Date(clock.wallNow());
    let fires = 0;
    const tool = defineTool({
      name: "pay",
      args: z.object({ order: z.object({ at: z.coerce.date().default(at) }) }),
      effect: "writes",
      execute: () => ++fires,
    });
    const { execute } = guardTool(tool, worker("A").calls, { scope: "turn-1", clock });
    expect(await outcomeOf(execute({ order: {} }))).toMatchObject({ message: expect.stringContaining("made anew") });
    // What the caller wrote is the caller's, in whatever form.
    expect(await execute({ order: { at: at().toUTCString() } })).toMatchObject({ result: 1 });
  });

  it("cannot be the tool call id, which is new for every emission", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const { calls } = worker("A");
    const idOf = (options: unknown) => (options as { toolCallId: string }).toolCallId;
    const byId = guardTool(box.tool, calls, { scopeOf: idOf });
    expect(await outcomeOf(byId.execute(hi, { toolCallId: "call-1" }))).toMatchObject({ path: "scope" });
    const { execute } = guardTool(box.tool, calls);
    expect(await outcomeOf(execute(hi, { key: "call-1", tool_call_id: "call-1" }))).toMatchObject({ path: "key" });
    expect(box.sent).toEqual([]);
  });
});

describe("the same arguments", () => {
  it("are not taken for the same intent: without a key and a scope nothing fires", async () => {
    const { worker, store } = await openScene();
    const box = new Mailbox();
    const { execute } = guardTool(box.tool, worker("A").calls);
    expect(await outcomeOf(execute(hi))).toMatchObject({ code: "invalid_request", path: "scope" });
    expect(await outcomeOf(execute(hi, { tool_call_id: "call-1", run_id: "run-1" }))).toMatchObject({ path: "scope" });
    expect(box.sent).toEqual([]);
    expect((await store.list("tool-call")).documents).toEqual([]);
  });

  it("are enough everywhere for a tool, or a set of tools, that says so", async () => {
    const { execute } = await payingBy({ scope: null });
    expect(await execute({ order: 7 })).toMatchObject({ was_replay: false });
    expect(await execute({ order: 7 })).toMatchObject({ was_replay: true });
    const { worker } = await openScene();
    const all = guardTool(new Mailbox().tool, worker("A").calls, { scope: null });
    expect(await all.execute(hi)).toMatchObject({ was_replay: false });
    expect(await all.execute(hi)).toMatchObject({ was_replay: true });
  });

  it("are in the scope that is nearest: the call's, the tool's, the framework's, the guard's", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const { tool } = new Mailbox();
    const rules = { send_email: { scope: (args: { subject: string }) => `tool ${args.subject}` } };
    const scopeOf = () => "framework";
    const keys: string[] = [];
    const options = { envelope: ({ key }: { key: string }) => keys.push(key) };
    await guardTool(tool, calls, { ...options, rules, scopeOf, scope: "guard" }).execute(hi, { scope: "call" });
    await guardTool(tool, calls, { ...options, rules, scopeOf, scope: "guard" }).execute(hi);
    await guardTool(tool, calls, { ...options, scopeOf, scope: "guard" }).execute(hi);
    await guardTool(tool, calls, { ...options, scopeOf: () => undefined, scope: "guard" }).execute(hi);
    expect(keys.map((key) => key.split("/")[0])).toEqual(["call", "tool hi", "framework", "guard"]);
  });
});

describe("one agent", () => {
  it("does not undo or repeat what another did under the same intent", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const rules = { send_email: { key: () => "welcome" } };
    const [ann, bob] = ["ann", "bob"].map((name) => {
      return guardTools({ mail: box.tool }, worker(name).calls, { scope: "case-7", rules });
    });
    await ann?.mail.execute(hi);
    expect(await bob?.mail.execute(hi)).toMatchObject({ was_replay: true });
    const other = bob?.mail.execute({ ...hi, subject: "ignore the last mail" }) ?? Promise.resolve();
    expect(await outcomeOf<unknown>(other)).toMatchObject({ code: "idempotency_conflict" });
    expect(box.sent).toHaveLength(1);
  });
});

describe("a key that is in memory only", () => {
  it("does not exist: it is in the store, pending, before the tool is entered", async () => {
    const { worker, store } = await openScene();
    let before: unknown;
    const tool = {
      name: "pay",
      execute: async (_: object, __: unknown, call: { key: string }) => {
        before = await store.get("tool-call", call.key);
        return 1;
      },
    };
    const { calls } = worker("A");
    await guardTool(tool, calls, { scope: "turn-1" }).execute({}, { tool_call_id: "call-1", thread_id: "thread-1" });
    expect(before).toMatchObject({
      status: "pending",
      claim_id: "A-1",
      extra: { tool_call_id: "call-1", thread_id: "thread-1" },
    });
  });
});

describe("an answer of 2xx, or of 504", () => {
  it("that could not be read leaves the call in doubt, and closed", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    for (const [index, failure] of [{ status: 504 }, { code: "ECONNRESET" }, {}].entries()) {
      let fires = 0;
      const tool = {
        name: `pay_${index}`,
        execute: () => {
          fires += 1;
          throw Object.assign(new Error("no answer that could be read"), failure);
        },
      };
      const { execute } = guardTool(tool, calls, { scope: "turn-1" });
      await expect(execute({})).rejects.toThrow("no answer that could be read");
      expect(await outcomeOf(execute({}))).toMatchObject({ code: "needs_review" });
      expect(fires).toBe(1);
    }
  });
});
