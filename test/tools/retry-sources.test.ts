import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isAsyncIterable } from "../../src/tool-calls/stream.js";
import { defineTool, guardTool, guardTools } from "../../src/tools/index.js";
import { openScene, outcomeOf, settled } from "../tool-calls/scene.js";
import { Gate, Mailbox } from "./tool-scene.js";

const hi = { to: "ann@example.com", subject: "hi" };

describe("a transport that retries", () => {
  it("gets the first call's result when its client gave up while the tool ran on", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const { execute } = guardTool(box.tool, worker("A").calls, { scope: "turn-1" });
    const gate = new Gate();
    box.afterwards = () => gate.opened;
    const client = new AbortController();
    const first = outcomeOf(execute(hi, { tool_call_id: "call-1", signal: client.signal }));
    await settled();
    client.abort(new Error("the client timed out"));
    const retry = execute(hi, { tool_call_id: "call-1" });
    await settled();
    gate.open();
    await first;
    expect(await retry).toMatchObject({ result: { message: 1 }, was_replay: true });
    expect(box.sent).toHaveLength(1);
  });

  it("gets the same value as the first caller did; only the flag, and what it says in words, differ", async () => {
    const { worker } = await openScene();
    const results = [undefined, null, 0, "", false, { a: [1, { b: undefined }] }];
    for (const [index, result] of results.entries()) {
      const tool = guardTool({ name: `pay_${index}`, execute: () => result }, worker("A").calls, { scope: "turn-1" });
      const first = await tool.execute({});
      const again = await tool.execute({});
      expect(first.was_replay).toBe(false);
      expect(again).toEqual({ ...first, was_replay: true, note: expect.stringContaining(first.original_called_at) });
    }
  });
});

describe("a framework that resumes", () => {
  it("runs the whole node again, on another worker, and each call in it fires once", async () => {
    const { worker, clock, advance } = await openScene();
    const box = new Mailbox();
    const node = async (name: string, crash: boolean) => {
      const tools = guardTools({ send: box.tool }, worker(name).calls, { scopeOf: (config) => threadOf(config) });
      const config = { thread_id: "thread-7", tool_call_id: "call-1" };
      const answers = [await tools.send.execute(hi, config)];
      if (crash) throw new Error("the worker died");
      answers.push(await tools.send.execute({ ...hi, subject: "bye" }, { ...config, tool_call_id: "call-2" }));
      return answers;
    };
    const startedAt = new Date(clock.wallNow()).toISOString();
    await outcomeOf(node("A", true));
    await advance(60);
    expect(await node("B", false)).toMatchObject([
      { was_replay: true, original_called_at: startedAt },
      { was_replay: false },
    ]);
    expect(box.sent.map(({ subject }) => subject)).toEqual(["hi", "bye"]);
  });

  it("does not fire again after a crash between effect and record: what cannot be undone is closed", async () => {
    const { worker, advance } = await openScene();
    const box = new Mailbox();
    const lost = worker("A");
    box.afterwards = async () => {
      lost.network.down = true;
    };
    const times = { pendingTtl: 10, maxRunTime: 5 };
    const options = { scope: "run-1", rules: { send_email: { times } } };
    void outcomeOf(guardTool(box.tool, lost.calls, options).execute(hi));
    await settled();
    expect(box.sent).toHaveLength(1);
    await advance(90);
    expect(await outcomeOf(guardTool(box.tool, worker("B").calls, options).execute(hi))).toMatchObject({
      code: "needs_review",
    });
    expect(box.sent).toHaveLength(1);
  });

  it("fires again after such a crash where the other side drops it, with the same key", async () => {
    const { worker, advance } = await openScene();
    const charges = new Map<string, number>();
    const tool = defineTool({
      name: "charge",
      args: z.object({ order: z.number(), amount: z.number() }),
      effect: "irreversible",
      mechanism: "downstream_key",
      key: ({ order }) => `order-${order}`,
      times: { pendingTtl: 10 },
      execute: async ({ amount }, call) => {
        charges.set(call.headers["Idempotency-Key"], amount);
        if (call.attempt === 1) return new Promise<never>(() => {});
        return { charged: amount };
      },
    });
    const lost = worker("A");
    void outcomeOf(guardTool(tool, lost.calls).execute({ order: 7, amount: 10 }));
    await settled();
    lost.network.down = true;
    await advance(11);
    const { execute } = guardTool(tool, worker("B").calls);
    expect(await execute({ order: 7, amount: 10 })).toMatchObject({ result: { charged: 10 }, was_replay: false });
    expect([...charges]).toEqual([["charge:order-7", 10]]);
  });

  it("is told nothing is done when it interrupts: the call is parked, and entered again on resume", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    class GraphInterrupt extends Error {
      override readonly name = "GraphInterrupt";
    }
    const interrupt = new GraphInterrupt("approve?");
    let approved = false;
    let effects = 0;
    const tool = {
      name: "transfer",
      execute: async () => {
        if (!approved) throw interrupt;
        return ++effects;
      },
    };
    const { execute } = guardTool(tool, calls, { scope: "run-1" });
    await expect(execute({ amount: 1 })).rejects.toBe(interrupt);
    const { calls: records } = await calls.list({ scope: "run-1" });
    expect(records.map(({ fields }) => fields.status)).toEqual(["parked"]);
    approved = true;
    expect(await execute({ amount: 1 })).toMatchObject({ result: 1, was_replay: false });
    expect(await execute({ amount: 1 })).toMatchObject({ result: 1, was_replay: true });
  });

  const streams = {
    "an async generator": (chunks: () => AsyncGenerator<unknown>) =>
      async function* () {
        yield* chunks();
      },
    "a function that answers a stream": (chunks: () => AsyncGenerator<unknown>) => async () => chunks(),
  };
  it.each(Object.entries(streams))("is parked when it interrupts as %s, as any other tool is", async (_, toolOf) => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const interrupt = Object.assign(new Error("approve?"), { name: "GraphInterrupt" });
    let approved = false;
    let effects = 0;
    const chunks = async function* () {
      yield "asking";
      if (!approved) throw interrupt;
      yield ++effects;
    };
    const tool = { name: "transfer", execute: toolOf(chunks) as (args: unknown) => unknown };
    const rules = { effect: "irreversible" } as const;
    const { execute } = guardTool(tool, calls, { scope: "run-1", rules: { transfer: rules } });
    const run = async (): Promise<unknown[]> => {
      const answer = await execute({ amount: 1 });
      if (!isAsyncIterable(answer)) return [answer];
      const seen: unknown[] = [];
      for await (const chunk of answer) seen.push(chunk);
      return seen;
    };
    await expect(run()).rejects.toBe(interrupt);
    const { calls: records } = await calls.list({ scope: "run-1" });
    expect(records.map(({ fields }) => [fields.status, fields.policy])).toEqual([["parked", "review"]]);
    approved = true;
    expect((await run()).at(-1)).toMatchObject({ result: 1, was_replay: false });
    expect((await run()).at(-1)).toMatchObject({ result: 1, was_replay: true });
    expect(effects).toBe(1);
  });

  it("that interrupts after the mark of the effect does not get a second one", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    let effects = 0;
    const interrupt = Object.assign(new Error("approve?"), { name: "GraphInterrupt" });
    const tool = defineTool({
      name: "transfer",
      args: z.object({}),
      effect: "irreversible",
      marks: true,
      execute: async (_, call) => {
        await call.fired();
        effects += 1;
        throw interrupt;
      },
    });
    const { execute } = guardTool(tool, calls, { scope: "run-1" });
    await expect(execute({})).rejects.toBe(interrupt);
    expect(await outcomeOf(execute({}))).toMatchObject({ code: "needs_review" });
    expect(effects).toBe(1);
  });
});

describe("a model that emits a call twice", () => {
  it("has one effect in a turn, whatever ids the emissions have, and both answers name the first call", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const { calls } = worker("A");
    const { execute } = guardTool(box.tool, calls, { scope: "turn-1" });
    const answers = await Promise.all([
      execute(hi, { tool_call_id: "call-1", run_id: "run-1" }),
      execute({ ...hi, urgent: false }, { tool_call_id: "call-2", run_id: "run-1" }),
    ]);
    const compacted = await execute(hi, { tool_call_id: "call-9", run_id: "run-1" });
    expect([...answers, compacted].map(({ was_replay }) => was_replay).sort()).toEqual([false, true, true]);
    expect(new Set([...answers, compacted].map(({ result }) => JSON.stringify(result))).size).toBe(1);
    expect(box.sent).toHaveLength(1);
    const [record] = (await calls.list({ scope: "turn-1" })).calls;
    expect(record?.fields.extra).toEqual({ tool_call_id: expect.stringMatching(/^call-[12]$/), run_id: "run-1" });
  });

  it("with other arguments under the same intent is in conflict, and is told not to try yet others", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const { calls } = worker("A");
    const rules = { send_email: { key: ({ to }: { to: string }) => to } };
    const { execute } = guardTool(box.tool, calls, { scope: "turn-1", rules });
    await execute(hi);
    const drifted = { ...hi, subject: "hello there" };
    expect(await outcomeOf(execute(drifted))).toMatchObject({
      code: "idempotency_conflict",
      status: 422,
      message: expect.stringMatching(/other arguments.*do not call again/s),
    });
    const told = guardTool(box.tool, calls, { scope: "turn-1", rules, refusals: "return" });
    const answer = await told.execute(drifted);
    expect(answer).toMatchObject({
      refused: true,
      message: expect.stringMatching(/neither with these nor with other/),
    });
    expect(answer).not.toHaveProperty("retry_after");
    expect(box.sent).toHaveLength(1);
  });

  it("with the same arguments in another turn means it again", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const { execute } = guardTool(box.tool, worker("A").calls);
    for (const scope of ["turn-1", "turn-2"]) expect(await execute(hi, { scope })).toMatchObject({ was_replay: false });
    expect(box.sent).toHaveLength(2);
  });
});

describe("a user who clicks twice", () => {
  it("has one effect: of many callers at once one fires, and the others get its result, flagged", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const gate = new Gate();
    box.afterwards = () => gate.opened;
    const clicks = ["A", "B", "C", "D", "E"].map((name) => {
      return guardTool(box.tool, worker(name).calls, { scope: "message-7" }).execute(hi);
    });
    await settled();
    gate.open();
    const answers = await Promise.all(clicks);
    expect(answers.filter(({ was_replay }) => !was_replay)).toHaveLength(1);
    for (const { result } of answers) expect(result).toEqual({ message: 1 });
    expect(box.sent).toHaveLength(1);
  });

  it("is answered at once when told not to wait, with when to come back", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const gate = new Gate();
    box.afterwards = () => gate.opened;
    const rules = { send_email: { times: { waitTimeout: 0, pendingTtl: 30 } } };
    const { calls } = worker("A");
    const first = guardTool(box.tool, calls, { scope: "message-7" }).execute(hi);
    await settled();
    const options = { scope: "message-7", rules, refusals: "return" } as const;
    expect(await guardTool(box.tool, worker("B").calls, options).execute(hi)).toMatchObject({
      refused: true,
      code: "call_in_flight",
      retry_after: 300,
    });
    gate.open();
    await first;
    expect(box.sent).toHaveLength(1);
  });
});

function threadOf(config: unknown): string | undefined {
  const { thread_id } = config as { readonly thread_id?: string };
  return thread_id;
}
