import { Agent, type RunContext, Runner, RunState, tool } from "@openai/agents";
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import {
  callOf,
  type GuardToolOptions,
  guardTool,
  type ToolCallDetailsLike,
} from "../../../client/adapters/openai-agents/index.js";
import { type ErrorCode, OnceKvError } from "../../../src/base/errors.js";
import type { ToolCalls } from "../../../src/tool-calls/index.js";
import { explainTools, type ToolEnvelope, type ToolRefusal } from "../../../src/tools/index.js";
import { adviceByCode, failureText, nothingBegun, notWaitedFor, replayNote } from "../../../src/tools/model-text.js";
import { openScene, outcomeOf, SlowTool, settled } from "../../tool-calls/scene.js";
import { emit, ScriptedModel, type Step } from "./scripted-model.js";

const mail = z.object({ to: z.string().trim(), urgent: z.boolean().default(false) });
const hi = { to: "ann@example.com", urgent: false };

interface Turn {
  readonly turn: string;
}

const scopeOf = ({ context }: RunContext<Turn>): string => context.turn;
const context: Turn = { turn: "turn-1" };

type Tools = Agent<Turn>["tools"];

/** Runs an agent to its end, and tells what the model was shown of tool results. */
async function run(tools: Tools, steps: readonly Step[], signal?: AbortSignal): Promise<readonly unknown[]> {
  const model = new ScriptedModel(steps);
  const agent = new Agent<Turn>({ name: "clerk", model, tools });
  await new Runner({ tracingDisabled: true }).run(agent, "please", {
    context,
    ...(signal === undefined ? {} : { signal }),
  });
  return model.seen;
}

function mailbox() {
  const sent: unknown[] = [];
  const toolOf = (calls: ToolCalls, options: GuardToolOptions = { scopeOf }) =>
    tool(
      guardTool(
        {
          name: "send_email",
          description: "Sends a mail.",
          parameters: mail,
          execute: async (input) => ({ message: sent.push(input) }),
        },
        calls,
        options,
      ),
    );
  return { sent, toolOf };
}

/** A tool that ends when the test says so. */
function booking(slow: SlowTool, calls: ToolCalls, options: GuardToolOptions, more: object = {}) {
  const execute = (_: unknown, __?: unknown, details?: ToolCallDetailsLike) =>
    slow.run({ signal: details?.signal as AbortSignal });
  const parameters = z.object({ seat: z.string() });
  return tool(guardTool({ name: "book", description: "Books.", parameters, execute, ...more }, calls, options));
}

const seat = { seat: "1A" };

function refused(code: ErrorCode, message: unknown, more: object = {}) {
  return { refused: true, code, message, ...more };
}

function answered(result: unknown, was_replay: boolean, more: object = {}) {
  return { result, was_replay, original_called_at: expect.any(String), ...more };
}

const note = expect.stringContaining("Nothing was done again");

describe("a guarded tool of the OpenAI Agents SDK", () => {
  it.each([
    ["left out", {}],
    ["left out beside a null, which strict models write", { note: null }],
  ])("is not entered when its schema makes other arguments each time: %s", async (_, more) => {
    const { worker } = await openScene();
    const sent: unknown[] = [];
    let made = 0;
    const reference = z.string().default(() => `made ${++made}`);
    const parameters = z.object({ to: z.string(), note: z.string().optional(), reference });
    const execute = async (input: unknown) => sent.push(input);
    const email = { name: "send_email", description: "Sends a mail.", parameters, execute };
    const guarded = tool(guardTool(email, worker("A").calls, { scopeOf }));
    const seen = await run([guarded], [[emit("send_email", { to: "ann", ...more })]]);
    expect(seen).toEqual([expect.stringContaining("args: are made anew by the schema each time")]);
    expect(sent).toEqual([]);
    await run([guarded], [[emit("send_email", { to: "ann", reference: "mine" })]]);
    expect(sent).toHaveLength(1);
  });

  it("fires once for a call that the model emits twice in one step, and again in a later one", async () => {
    const { worker } = await openScene();
    const { sent, toolOf } = mailbox();
    const steps = [[emit("send_email", hi), emit("send_email", { to: " ann@example.com " })], [emit("send_email", hi)]];
    const seen = await run([toolOf(worker("A").calls)], steps);
    expect(sent).toEqual([hi]);
    expect(seen.slice(0, 2)).toEqual([answered({ message: 1 }, false), answered({ message: 1 }, true, { note })]);
    const { original_called_at } = seen[2] as { original_called_at: string };
    expect(seen[2]).toEqual(answered({ message: 1 }, true, { note: replayNote(original_called_at, undefined) }));
  });

  it("takes other arguments under the same key for a conflict", async () => {
    const { worker } = await openScene();
    const { sent, toolOf } = mailbox();
    const rules = { send_email: { key: () => "order-7" } };
    const seen = await run(
      [toolOf(worker("A").calls, { rules })],
      [[emit("send_email", hi)], [emit("send_email", { to: "bob@example.com" })]],
    );
    expect(seen[1]).toEqual(refused("idempotency_conflict", adviceByCode.idempotency_conflict));
    expect(sent).toHaveLength(1);
  });

  it("says that the call is still running elsewhere, and gives its result later", async () => {
    const { worker } = await openScene();
    const slow = new SlowTool();
    const options = { scopeOf, rules: { book: { times: { waitTimeout: 0 } } } };
    const first = run([booking(slow, worker("A").calls, options)], [[emit("book", seat)]]);
    await settled();
    const elsewhere = booking(slow, worker("B").calls, options);
    const inFlight = refused("call_in_flight", adviceByCode.call_in_flight, { retry_after: expect.any(Number) });
    expect(await run([elsewhere], [[emit("book", seat)]])).toEqual([inFlight]);
    slow.end(0, "booked");
    expect(await first).toEqual([answered("booked", false)]);
    expect(await run([elsewhere], [[emit("book", seat)]])).toEqual([answered("booked", true, { note })]);
    expect(slow.fires).toBe(1);
  });

  it("says that nobody knows when the last process died in the tool", async () => {
    const { worker, advance } = await openScene();
    const slow = new SlowTool();
    const options = { scopeOf, rules: { book: { times: { pendingTtl: 30 } } } };
    const first = worker("A");
    void outcomeOf(run([booking(slow, first.calls, options)], [[emit("book", seat)]]));
    await settled();
    first.network.down = true;
    await advance(31);
    const seen = await run([booking(slow, worker("B").calls, options)], [[emit("book", seat)]]);
    expect(seen).toEqual([refused("needs_review", adviceByCode.needs_review)]);
    expect(slow.fires).toBe(1);
  });

  it("tells of a failure in words that do not invite to another try", async () => {
    const { worker } = await openScene();
    let fires = 0;
    const failing = (name: string, thrown: object) => {
      const execute = async (): Promise<string> => {
        fires += 1;
        throw Object.assign(new Error(), thrown);
      };
      const parameters = z.object({});
      return tool(guardTool({ name, description: name, parameters, execute }, worker("A").calls, { scopeOf }));
    };
    const tools = [
      failing("send", { message: "no such address", outcome: "failed" }),
      failing("pay", { message: "timeout" }),
    ];
    const both = () => [emit("send", {}), emit("pay", {})];
    const seen = await run(tools, [both(), both()]);
    expect(seen).toEqual([
      refused("tool_call_failed", failureText("failed", "no such address.")),
      refused("needs_review", failureText("unknown", "timeout.")),
      refused("tool_call_failed", expect.stringContaining(String(adviceByCode.tool_call_failed))),
      refused("needs_review", adviceByCode.needs_review),
    ]);
    expect(JSON.stringify(seen)).not.toContain("try again");
    expect(fires).toBe(2);
  });

  it("says that nothing was done when the store gives no answer", async () => {
    const { worker } = await openScene();
    const { sent, toolOf } = mailbox();
    const { calls, network } = worker("A");
    network.down = true;
    expect(await run([toolOf(calls)], [[emit("send_email", hi)]])).toMatchObject([
      { refused: true, message: nothingBegun },
    ]);
    expect(sent).toHaveLength(0);
  });

  it("is told of as not known when it is timed out, and its retry gets what it came to", async () => {
    const { worker } = await openScene();
    const slow = new SlowTool();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const timed = booking(slow, worker("A").calls, { scopeOf }, { timeoutMs: 1000 });
    const ran = run([timed], [[emit("book", seat)]]);
    await settled();
    expect(slow.fires).toBe(1);
    vi.advanceTimersByTime(1000);
    expect(await ran).toEqual([refused("outcome_unknown", notWaitedFor)]);
    expect(slow.signals[0]?.aborted).toBe(true);
    slow.end(0, "booked");
    const untimed = booking(slow, worker("B").calls, { scopeOf });
    expect(await run([untimed], [[emit("book", seat)]])).toEqual([answered("booked", true, { note })]);
    expect(slow.fires).toBe(1);
  });

  it("keeps its own words for a timeout", async () => {
    const { worker } = await openScene();
    const more = { timeoutMs: 5, timeoutErrorFunction: () => "patience" };
    const timed = booking(new SlowTool(), worker("A").calls, { scopeOf }, more);
    expect(await run([timed], [[emit("book", seat)]])).toEqual(["patience"]);
  });

  it("is recorded to its end when the caller has left while it ran", async () => {
    const { worker } = await openScene();
    const slow = new SlowTool();
    const caller = new AbortController();
    const left = outcomeOf(run([booking(slow, worker("A").calls, { scopeOf })], [[emit("book", seat)]], caller.signal));
    await settled();
    caller.abort(new Error("the page was closed"));
    expect(slow.signals[0]?.aborted).toBe(true);
    slow.end(0, "booked");
    await left;
    const again = await run([booking(slow, worker("B").calls, { scopeOf })], [[emit("book", seat)]]);
    expect(again).toEqual([answered("booked", true, { note })]);
  });

  it("keeps the call id in the record, and finds its call with the key for the service behind it", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const seen: unknown[] = [];
    const parameters = { type: "object", properties: {}, required: [], additionalProperties: true } as const;
    const charge = tool(
      guardTool(
        {
          name: "charge",
          description: "Charges.",
          strict: false,
          parameters,
          execute: async (input, runContext?: RunContext<Turn>, details?) => {
            seen.push(input, runContext?.context.turn, callOf(details)?.headers, details?.toolCall?.callId);
            return details?.signal === callOf(details)?.signal;
          },
        },
        calls,
        { scopeOf },
      ),
    );
    const call = emit("charge", { cents: 5 });
    expect(await run([charge], [[call]])).toEqual([answered(true, false)]);
    const headers = { "Idempotency-Key": expect.stringMatching(/^turn-1\/charge:/) };
    expect(seen).toEqual([{ cents: 5 }, "turn-1", headers, call.id]);
    expect((await calls.list()).calls).toMatchObject([{ fields: { extra: { tool_call_id: call.id } } }]);
  });

  it("shows pictures as pictures, and a replay's note beside them", async () => {
    const { worker } = await openScene();
    const picture = { type: "image", image: "data:image/png;base64,AAAA" } as const;
    const parameters = z.object({});
    const execute = async () => picture;
    const paint = tool(
      guardTool({ name: "paint", description: "Paints.", parameters, execute }, worker("A").calls, { scopeOf }),
    );
    const seen = await run([paint], [[emit("paint", {})], [emit("paint", {})]]);
    expect(seen).toMatchObject([
      [{ type: "input_image" }],
      [{ type: "input_text", text: note }, { type: "input_image" }],
    ]);
  });

  it("keeps to its output schema: bare results, and errors for its own errorFunction", async () => {
    const { worker } = await openScene();
    const rules = { charge: { key: () => "order-7" } };
    const charge = tool(
      guardTool(
        {
          name: "charge",
          description: "Charges.",
          parameters: z.object({ cents: z.number() }),
          outputSchema: z.object({ id: z.string() }),
          errorFunction: async (_context, error) => ({ id: error instanceof OnceKvError ? error.code : "?" }),
          execute: async ({ cents }) => ({ id: `c-${cents}` }),
        },
        worker("A").calls,
        { rules },
      ),
    );
    const steps = [[emit("charge", { cents: 5 })], [emit("charge", { cents: 5 })], [emit("charge", { cents: 6 })]];
    expect(await run([charge as never], steps)).toEqual([{ id: "c-5" }, { id: "c-5" }, { id: "idempotency_conflict" }]);
  });
});

describe("an approval in the OpenAI Agents SDK", () => {
  const paying = (paid: unknown[], calls: ToolCalls) =>
    tool(
      guardTool(
        {
          name: "pay",
          description: "Pays.",
          parameters: z.object({ order: z.number() }),
          needsApproval: async (_context, { order }) => order === 7,
          execute: async (input) => `payment ${paid.push(input)}`,
        },
        calls,
        { scopeOf },
      ),
    );

  /** Goes on with a run that was kept as text. */
  const resumed = async (text: string, paid: unknown[], calls: ToolCalls, decide: "approve" | "reject") => {
    const model = new ScriptedModel(["done"]);
    const agent = new Agent<Turn>({ name: "clerk", model, tools: [paying(paid, calls)] });
    const state = await RunState.fromString<Turn, typeof agent>(agent, text);
    for (const interruption of state.getInterruptions()) state[decide](interruption);
    await new Runner({ tracingDisabled: true }).run(agent, state);
    return model.seen;
  };

  const interrupted = async (paid: unknown[], calls: ToolCalls): Promise<string> => {
    const model = new ScriptedModel([[emit("pay", { order: 7 })]]);
    const agent = new Agent<Turn>({ name: "clerk", model, tools: [paying(paid, calls)] });
    const result = await new Runner({ tracingDisabled: true }).run(agent, "pay order 7", { context });
    expect(result.interruptions).toHaveLength(1);
    return result.state.toString();
  };

  it("fires once when the process dies after it, and the run is resumed from the same state", async () => {
    const { worker } = await openScene();
    const paid: unknown[] = [];
    const text = await interrupted(paid, worker("A").calls);
    expect(paid).toEqual([]);
    expect(await resumed(text, paid, worker("B").calls, "approve")).toEqual([answered("payment 1", false)]);
    expect(await resumed(text, paid, worker("C").calls, "approve")).toEqual([answered("payment 1", true, { note })]);
    expect(paid).toEqual([{ order: 7 }]);
  });

  it("leaves no record when it is denied", async () => {
    const { worker } = await openScene();
    const paid: unknown[] = [];
    const { calls } = worker("A");
    await resumed(await interrupted(paid, calls), paid, calls, "reject");
    expect([paid.length, (await calls.list()).calls.length]).toEqual([0, 0]);
  });
});

describe("guarding a tool of the OpenAI Agents SDK", () => {
  it("is refused for a tool that is made already, without a name or a function, and with an option that is none", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const { toolOf } = mailbox();
    const options = { name: "pay", description: "Pays.", parameters: z.object({}), execute: async () => 1 };
    const refusals: readonly [unknown, object, string][] = [
      [toolOf(calls), {}, "tool"],
      [{ ...options, execute: undefined }, {}, "tool"],
      [{ ...options, name: "" }, {}, "tool"],
      [7, {}, "tool"],
      [options, { leave: [] }, "leave"],
      [options, { isInterrupt: () => true }, "isInterrupt"],
      [options, { scopeOf: "t" }, "scopeOf"],
      [options, { scope: "t", failures: "hide" }, "failures"],
      [options, { scope: "t", rules: { send: {} } }, "rules.send"],
      [options, {}, "scope"],
    ];
    for (const [given, wrong, path] of refusals) {
      expect(() => guardTool(given as never, calls, wrong as never)).toThrow(expect.objectContaining({ path }));
    }
  });

  it("takes the name of the function where there is no other, and does not guard twice", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const parameters = z.object({});
    async function transfer() {
      return 1;
    }
    const once = guardTool({ description: "Transfers.", parameters, execute: transfer }, calls, { scope: "t" });
    expect(once.name).toBe("transfer");
    expect(guardTool(once, calls, { scope: "t" }).execute).toBe(once.execute);
    expect(explainTools([once])).toMatchObject({ transfer: { reasons: ["it is guarded already"] } });
    expectTypeOf<Awaited<ReturnType<typeof once.execute>>>().toEqualTypeOf<ToolEnvelope<number> | ToolRefusal>();
  });
});
