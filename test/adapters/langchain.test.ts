import { AIMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { DynamicStructuredTool, StructuredTool, tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callOf, guardTool, guardTools } from "../../client/adapters/langchain/index.js";
import { adviceByCode, failureText, nothingBegun } from "../../src/tools/model-text.js";
import { openScene, settled } from "../tool-calls/scene.js";
import { Gate } from "../tools/tool-scene.js";
import { agentOf, Outbox, scripted, shownTo, textsFor } from "./langchain-scene.js";

const thread = { configurable: { thread_id: "thread-1" } };

describe("guarded tools in an agent", () => {
  it("fire once, however often the model emits the call, in one step and in later ones", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const model = scripted([{ id: "a" }, { id: "b" }], [{ id: "c", args: { to: "ann", subject: "hello" } }]);
    const { ask } = agentOf(model, [box.tool], worker("A").calls);
    await ask("write to ann");
    expect(box.sent).toEqual([{ to: "ann", subject: "hello" }]);
    const texts = textsFor(model);
    expect(Object.keys(texts)).toEqual(["a", "b", "c"]);
    const envelopes = Object.values(texts).map((text) => JSON.parse(text));
    expect(envelopes.map(({ result }) => result)).toEqual([{ message: 1 }, { message: 1 }, { message: 1 }]);
    expect(envelopes.map(({ was_replay }) => was_replay).sort()).toEqual([false, true, true]);
    expect(envelopes[2].note).toContain("Do not repeat it in other words.");
  });

  it("fire again in another turn of the user and in another thread, and not in the same turn", async () => {
    const { worker, store } = await openScene();
    const box = new Outbox();
    const model = scripted([{ id: "a" }]);
    const { ask } = agentOf(model, [box.tool], worker("A").calls);
    await ask("write to ann");
    // What the user says is the same in all of them.
    for (const where of ["thread-1", "thread-2"]) {
      model.respondWithTools([{ id: `again-${where}`, name: "send_email", args: { to: "ann" } }]);
      model.respond(new AIMessage("done"));
      await ask("write to ann", where);
    }
    expect(box.sent).toHaveLength(3);
    const records = (await store.list("tool-call")).documents.map(({ fields }) => fields["extra"]);
    expect(records).toContainEqual({ tool_call_id: "a", thread_id: "thread-1" });
    expect(records).toContainEqual({ tool_call_id: "again-thread-2", thread_id: "thread-2" });
  });

  it("fire once in a turn whose worker died after the effect and before the checkpoint, and was resumed by another one", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const checkpointer = new DyingSaver();
    const model = scripted([{ id: "a" }]);
    const first = agentOf(model, [box.tool], worker("A").calls, { checkpointer });
    box.afterwards = async () => {
      checkpointer.isDead = true;
    };
    await expect(first.ask("write to ann")).rejects.toThrow("the process is dead");
    checkpointer.isDead = false;
    const second = agentOf(model, [box.tool], worker("B").calls, { checkpointer });
    await second.agent.invoke(null, thread);
    expect(box.sent).toHaveLength(1);
    expect(JSON.parse(textsFor(model)["a"] ?? "")).toMatchObject({ result: { message: 1 }, was_replay: true });
  });

  it("have nothing done again when a user's interruption dropped a finished result from the history", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const model = scripted([{ id: "a" }]);
    const { agent, ask } = agentOf(model, [box.tool], worker("A").calls);
    await ask("write to ann");
    const [turn, ...others] = (await agent.graph.getState(thread)).values.messages;
    await agent.graph.updateState(thread, {
      messages: others.map(({ id }: { id: string }) => new RemoveMessage({ id })),
    });
    model.respondWithTools([{ id: "b", name: "send_email", args: { to: "ann" } }]).respond(new AIMessage("done"));
    await agent.invoke({ messages: [turn] }, thread);
    expect(box.sent).toHaveLength(1);
    expect(Object.keys(textsFor(model))).toEqual(["b"]);
    expect(JSON.parse(textsFor(model)["b"] ?? "")).toMatchObject({ was_replay: true });
  });

  it("are asked for a key or a scope where there is no thread", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const guarded = guardTool(box.tool, worker("A").calls);
    await expect(guarded.invoke({ to: "ann" })).rejects.toMatchObject({ code: "invalid_request", path: "scope" });
    const keyed = guardTool(box.tool, worker("A").calls, {
      rules: { send_email: { key: ({ to }: { to: string }) => to } },
    });
    await keyed.invoke({ to: "ann" });
    await keyed.invoke({ to: "ann" });
    expect(box.sent).toHaveLength(1);
  });

  it("take the scope that the options make of the config", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const guarded = guardTool(box.tool, worker("A").calls, {
      scopeOf: ({ configurable }) => configurable?.["run"] as string,
    });
    for (const run of ["1", "2", "1"]) await guarded.invoke({ to: "ann" }, { configurable: { run, thread_id: "t" } });
    expect(box.sent).toHaveLength(2);
  });
});

/** A checkpointer of a process that dies: what it writes from then on is lost. */
class DyingSaver extends MemorySaver {
  isDead = false;

  override async putWrites(...given: Parameters<MemorySaver["putWrites"]>): Promise<void> {
    if (this.isDead) throw new Error("the process is dead");
    await super.putWrites(...given);
  }

  override async put(...given: Parameters<MemorySaver["put"]>): ReturnType<MemorySaver["put"]> {
    if (this.isDead) throw new Error("the process is dead");
    return super.put(...given);
  }
}

describe("what the model sees of a call that is not made", () => {
  const box = (): Outbox => new Outbox();
  const byRecipient = { send_email: { key: ({ to }: { to: string }) => to } };

  it("is the refusal's own text, as a message that is an error, with the refusal for programs", async () => {
    const { worker } = await openScene();
    const outbox = box();
    const model = scripted([{ id: "a" }], [{ id: "b", args: { to: "ann", subject: "other" } }]);
    await agentOf(model, [outbox.tool], worker("A").calls, { rules: byRecipient }).ask("write");
    const { b } = shownTo(model);
    expect(b?.content).toBe(adviceByCode.idempotency_conflict);
    expect(b).toMatchObject({ status: "error", artifact: { refused: true, code: "idempotency_conflict" } });
    expect(outbox.sent).toHaveLength(1);
  });

  it("tells that the same call is still running, and later what became of it", async () => {
    const { worker } = await openScene();
    const outbox = box();
    const [entered, end] = [new Gate(), new Gate()];
    outbox.afterwards = () => {
      entered.open();
      return end.opened;
    };
    const rules = { send_email: { times: { waitTimeout: 0 } } };
    const slow = agentOf(scripted([{ id: "a" }]), [outbox.tool], worker("A").calls, { rules, scope: "job" }).ask("x");
    await entered.opened;
    const other = agentOf(scripted([{ id: "b" }]), [outbox.tool], worker("B").calls, { rules, scope: "job" });
    await other.ask("x");
    expect(textsFor(other.model)["b"]).toBe(adviceByCode.call_in_flight);
    end.open();
    await slow;
    other.model.respondWithTools([{ id: "c", name: "send_email", args: { to: "ann" } }]).respond(new AIMessage("done"));
    await other.ask("and now?");
    expect(JSON.parse(textsFor(other.model)["c"] ?? "")).toMatchObject({ was_replay: true });
    expect(outbox.sent).toHaveLength(1);
  });

  it("says that somebody has to find out, when a worker died in the middle of the call", async () => {
    const { worker, advance } = await openScene();
    const outbox = box();
    const entered = new Gate();
    outbox.afterwards = () => {
      entered.open();
      return new Promise(() => {});
    };
    const dead = worker("A");
    const options = { scope: "job", rules: { send_email: { times: { pendingTtl: 10 } } } };
    guardTool(outbox.tool, dead.calls, options)
      .invoke({ to: "ann" })
      .catch(() => {});
    await entered.opened;
    dead.network.down = true;
    await advance(20);
    const { model, ask } = agentOf(scripted([{ id: "b" }]), [outbox.tool], worker("B").calls, options);
    await ask("x");
    expect(textsFor(model)["b"]).toBe(adviceByCode.needs_review);
    expect(outbox.sent).toHaveLength(1);
  });

  it("says what became of a call that failed, and never to fix mistakes", async () => {
    const { worker } = await openScene();
    const faults: { [to: string]: object } = {
      bad: { outcome: "failed" },
      busy: { outcome: "retryable" },
      lost: {},
    };
    let tried = 0;
    const mail = tool(
      async ({ to }) => {
        tried += 1;
        throw Object.assign(new Error(`${to}.`), faults[to]);
      },
      { name: "send_email", schema: z.object({ to: z.string() }) },
    );
    const emissions = Object.keys(faults).map((to) => ({ id: to, args: { to } }));
    const again = emissions.map(({ id, args }) => ({ id: `${id}-2`, args }));
    const model = scripted(emissions, again);
    await agentOf(model, [mail], worker("A").calls).ask("write");
    expect(textsFor(model)).toEqual({
      bad: failureText("failed", "bad."),
      busy: failureText("retryable", "busy."),
      lost: failureText("unknown", "lost."),
      "bad-2": expect.stringContaining(adviceByCode.tool_call_failed ?? "?"),
      "busy-2": failureText("retryable", "busy."),
      "lost-2": adviceByCode.needs_review,
    });
    expect(tried).toBe(4);
  });

  it("says that nothing was done when the store cannot be reached", async () => {
    const { worker, advance } = await openScene();
    const outbox = box();
    const { calls, network } = worker("A");
    network.down = true;
    const model = scripted([{ id: "a" }]);
    const asked = agentOf(model, [outbox.tool], calls).ask("write");
    await advance(120);
    await asked;
    expect(textsFor(model)["a"]).toBe(nothingBegun);
    expect(outbox.sent).toEqual([]);
  });
});

describe("a caller that leaves", () => {
  it("does not undo the call, whose outcome is there when it comes back", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    let end = (): void => {};
    box.afterwards = () => new Promise((resolve) => (end = resolve));
    const guarded = guardTool(box.tool, worker("A").calls, { scope: "job" });
    const leaving = new AbortController();
    const first = guarded.invoke({ to: "ann" }, { signal: leaving.signal });
    await settled();
    leaving.abort(new Error("stopped by the user"));
    await expect(first).rejects.toThrow("stopped by the user");
    end();
    await settled();
    expect(await guarded.invoke({ to: "ann" })).toMatchObject({ result: { message: 1 }, was_replay: true });
    expect(box.sent).toHaveLength(1);
  });

  it("before the tool is entered has it never entered", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const guarded = guardTool(box.tool, worker("A").calls, { scope: "job" });
    const gone = AbortSignal.abort(new Error("gone"));
    await expect(guarded.invoke({ to: "ann" }, { signal: gone })).rejects.toThrow("gone");
    await settled();
    expect(box.sent).toEqual([]);
  });
});

describe("a guarded set of LangChain tools", () => {
  it("has tools of the same class, and those that only read, that a provider runs or that are guarded as they were", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const box = new Outbox();
    const read = tool(async () => "sunny", { name: "get_weather", schema: z.object({}) });
    const ofProvider = { type: "web_search_20250305", name: "web_search" };
    const once = guardTools([box.tool, read, ofProvider], calls);
    expect(once[1]).toBe(read);
    expect(once[2]).toBe(ofProvider);
    expect(once[0]).not.toBe(box.tool);
    expect(once[0]).toBeInstanceOf(DynamicStructuredTool);
    expect(once[0]).toMatchObject({ name: "send_email", description: "Sends a mail.", schema: box.tool.schema });
    expect(guardTools(once, calls)).toEqual(once);
    expect(guardTool(once[0], calls)).toBe(once[0]);
    expect(guardTools([box.tool], calls, { leave: ["send_email"] })[0]).toBe(box.tool);
    const hinted = tool(async () => 1, {
      name: "pages",
      schema: z.object({}),
      metadata: { annotations: { readOnlyHint: true } },
    });
    expect(guardTools([hinted], calls)[0]).toBe(hinted);
  });

  it("takes tools that are classes of one's own, and those whose only argument is a text or nothing", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    class Sender extends StructuredTool<z.ZodObject<{ to: z.ZodString }>> {
      #sent = 0;
      readonly #schema = z.object({ to: z.string() });
      name = "send_fax";
      description = "Sends a fax.";
      get schema() {
        return this.#schema;
      }
      protected async _call({ to }: { to: string }): Promise<string> {
        this.#sent += 1;
        return `fax ${this.#sent} to ${to}`;
      }
    }
    const guarded = guardTool(new Sender(), calls, { scope: "job", envelope: false });
    for (const _ of [1, 2]) expect(await guarded.invoke({ to: "ann" })).toBe("fax 1 to ann");
    const posted: unknown[] = [];
    const post = guardTool(
      tool(async (text: unknown) => posted.push(text), { name: "post" }),
      calls,
      { scope: "job", envelope: false },
    );
    for (const text of ["hi", "hi", "ho"]) await post.invoke(text);
    for (const _ of [1, 2]) await (post as { invoke(input?: unknown): Promise<unknown> }).invoke(undefined);
    expect(posted).toEqual(["hi", "ho", undefined]);
    // The function that the tool was made of is no way around the guard.
    await post.func("hi");
    expect(posted).toHaveLength(3);
  });

  it("fires nothing when the schema makes other arguments each time, by which no retry would be known", async () => {
    const { worker } = await openScene();
    let fires = 0;
    let ids = 0;
    const schema = z.object({ to: z.string().trim(), id: z.number().default(() => ++ids) });
    const mail = tool(async () => ++fires, { name: "send_email", schema });
    const guarded = guardTool(mail, worker("A").calls, { scope: "job" });
    await expect(guarded.invoke({ to: "ann" })).rejects.toMatchObject({ code: "invalid_request", path: "args" });
    const call = { type: "tool_call" as const, id: "x", name: "send_email", args: { to: "ann" } };
    await expect(guarded.invoke(call)).rejects.toMatchObject({ code: "invalid_request", path: "args" });
    expect(fires).toBe(0);
    for (const to of ["ann", " ann "]) await guarded.invoke({ ...call, args: { to, id: 1 } });
    expect(fires).toBe(1);
  });

  it("refuses options that it does not know, and a tool with side effects that cannot be guarded", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const options = { refusals: "throw" } as object;
    expect(() => guardTools([new Outbox().tool], calls, options)).toThrow(/refusals/);
    const opaque = { name: "send_fax", invoke: async () => 1 };
    expect(() => guardTools([opaque], calls)).toThrow(/send_fax/);
    expect(guardTools([opaque], calls, { leave: ["send_fax"] })).toEqual([opaque]);
    for (const name of ["invoke", "call"] as const) {
      const instrumented = new Outbox().tool;
      Object.assign(instrumented, { [name]: instrumented[name].bind(instrumented) });
      expect(() => guardTool(instrumented, calls)).toThrow(new RegExp(`send_email.*${name} of its own`));
    }
  });

  it("gives a tool its call, with the key for the service behind it, and tells the callbacks as before", async () => {
    const { worker } = await openScene();
    const keys: unknown[] = [];
    const charge = tool(async (_args, config) => keys.push(callOf(config)?.headers["Idempotency-Key"]), {
      name: "charge",
      schema: z.object({ order: z.string() }),
    });
    const guarded = guardTool(charge, worker("A").calls, {
      rules: { charge: { mechanism: "downstream_key", key: ({ order }: { order: string }) => order } },
    });
    const told: string[] = [];
    const callbacks = [
      {
        handleToolStart: () => void told.push("start"),
        handleToolEnd: (end: unknown) => void told.push(`end ${end instanceof ToolMessage}`),
      },
    ];
    await guarded.invoke({ type: "tool_call", id: "x", name: "charge", args: { order: "7" } }, { callbacks });
    expect(keys).toEqual(["charge:7"]);
    expect(told).toEqual(["start", "end true"]);
    expect(callOf({})).toBeUndefined();
    // The arguments are judged by the schema before anything is claimed.
    await expect(guarded.invoke({ order: 7 } as never)).rejects.toThrow(/schema/);
  });

  it.each([
    ["made by tool()", false],
    ["of a class", true],
  ])("keeps its call to itself: an unguarded tool %s that it uses finds none", async (_what, ofClass) => {
    const { worker } = await openScene();
    const found: unknown[] = [];
    const schema = z.object({});
    class Inner extends StructuredTool<typeof schema> {
      name = "get_balance";
      description = "Reads.";
      schema = schema;
      protected async _call(_args: object, _manager: unknown, config: unknown): Promise<string> {
        found.push(callOf(config));
        return "";
      }
    }
    const made = tool(async (_args, config) => void found.push(callOf(config)), { name: "get_balance", schema });
    const inner = ofClass ? new Inner() : made;
    const run = async (config: object): Promise<void> => {
      found.push(callOf(config) !== undefined);
      await inner.invoke({}, config);
      await inner.invoke({});
    };
    class Outer extends Inner {
      override name = "pay";
      protected override async _call(_args: object, _manager: unknown, config: unknown): Promise<string> {
        await run(config as object);
        return "";
      }
    }
    const outer = tool(async (_args, config) => run(config), { name: "pay", schema });
    for (const each of [outer, new Outer()])
      await guardTool(each, worker("A").calls, { scope: each.constructor.name }).invoke({});
    expect(found).toEqual([true, undefined, undefined, true, undefined, undefined]);
  });
});
