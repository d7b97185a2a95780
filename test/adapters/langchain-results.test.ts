import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Command,
  END,
  GraphDrained,
  GraphInterrupt,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  NodeInterrupt,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { guardTool, guardTools } from "../../client/adapters/langchain/index.js";
import { toolCalls } from "../../src/tool-calls/index.js";
import { openScene } from "../tool-calls/scene.js";
import { agentOf, Outbox, scripted, textsFor } from "./langchain-scene.js";

const thread = { configurable: { thread_id: "thread-1" } };

/** A tool call as a ToolNode makes it. */
function callOf(name: string, id: string, args: { readonly [name: string]: unknown } = {}) {
  return { type: "tool_call" as const, name, id, args: { ...args } };
}

interface Invokable {
  invoke(call: unknown): Promise<unknown>;
}

/** The same call twice, by two workers, as after a crash. */
async function twice(made: object, name: string, options = {}) {
  const { worker } = await openScene();
  const invoke = (worker_: string, id: string): Promise<unknown> => {
    const guarded = guardTool(made, worker(worker_).calls, { scope: "job", ...options }) as Invokable;
    return guarded.invoke(callOf(name, id));
  };
  return [await invoke("A", "one"), await invoke("B", "two")] as const;
}

describe("a replay hands the framework a thing of the same kind as the first call", () => {
  const fields = { name: "create_order", schema: z.object({}) };

  it("for a bare result, when no envelope is wanted", async () => {
    const made = tool(async () => ({ order: 1, at: new Date(0) }), fields);
    const [first, second] = await twice(made, "create_order", { envelope: false });
    for (const [message, id] of [
      [first, "one"],
      [second, "two"],
    ] as const) {
      expect(message).toBeInstanceOf(ToolMessage);
      expect(message).toMatchObject({ tool_call_id: id, status: "success" });
      expect((message as ToolMessage).content).toBe('{"order":1,"at":"1970-01-01T00:00:00.000Z"}');
    }
  });

  it("for plain arguments, where the answer is the envelope itself", async () => {
    const { worker } = await openScene();
    const guarded = guardTool(
      tool(async () => 7, fields),
      worker("A").calls,
      { scope: "job" },
    );
    expect(await guarded.invoke({})).toMatchObject({ result: 7, was_replay: false });
    expect(await guarded.invoke({})).toMatchObject({ result: 7, was_replay: true, note: expect.any(String) });
  });

  it("for content and artifact, whose artifact is kept if it is JSON", async () => {
    const kept = tool(async () => ["made", { id: 1 }], { ...fields, responseFormat: "content_and_artifact" });
    const [first, second] = await twice(kept, "create_order");
    expect(first).toMatchObject({ artifact: { id: 1 }, tool_call_id: "one" });
    expect(second).toMatchObject({ artifact: { id: 1 }, tool_call_id: "two" });
    expect(JSON.parse((second as ToolMessage).content as string)).toMatchObject({ result: "made", was_replay: true });
    const bytes = tool(async () => ["made", Buffer.from("pdf")], { ...fields, responseFormat: "content_and_artifact" });
    const [live, later] = await twice(bytes, "create_order");
    expect((live as ToolMessage).artifact).toEqual(Buffer.from("pdf"));
    expect((later as ToolMessage).artifact).toBeUndefined();
    expect(JSON.parse((later as ToolMessage).content as string)).toMatchObject({ result: "made", was_replay: true });
  });

  it("for what is redacted: the first caller gets no more than what is kept", async () => {
    const { store } = await openScene();
    const made = tool(async () => ["made", { id: 1, card: "4242" }], {
      ...fields,
      responseFormat: "content_and_artifact",
    });
    const redact = (result: unknown): unknown => JSON.parse(JSON.stringify(result).replace("4242", "****"));
    const guarded = guardTool(made, toolCalls(store, { results: { redact } }), { scope: "job" });
    for (const id of ["one", "two"]) {
      expect(await guarded.invoke(callOf("create_order", id))).toMatchObject({ artifact: { id: 1, card: "****" } });
    }
  });

  it("for blocks of content, with the envelope in front of them", async () => {
    const picture = { type: "image_url", image_url: { url: "data:," } };
    const [, second] = await twice(
      tool(async () => [picture], fields),
      "create_order",
    );
    const [facts, shown] = (second as ToolMessage).content as [{ text: string }, unknown];
    expect(shown).toEqual(picture);
    expect(JSON.parse(facts.text)).toMatchObject({ was_replay: true, note: expect.any(String) });
  });

  it("for a message, which answers the emission that asks now and keeps what else it says", async () => {
    const made = tool(
      async (_args, config) =>
        new ToolMessage({
          content: "no such order",
          tool_call_id: config.toolCall.id,
          id: "m-1",
          status: "error",
          artifact: [1],
          additional_kwargs: { seen: true },
        }),
      fields,
    );
    const [first, second] = await twice(made, "create_order", { envelope: false });
    const same = { content: "no such order", status: "error", artifact: [1], additional_kwargs: { seen: true } };
    expect(first).toMatchObject({ ...same, tool_call_id: "one" });
    expect(second).toMatchObject({ ...same, tool_call_id: "two" });
    expect(second).toBeInstanceOf(ToolMessage);
    expect((second as ToolMessage).toJSON()).toMatchObject({ kwargs: { status: "error", artifact: [1] } });
    expect((second as ToolMessage).id).not.toBe("m-1");
  });

  it("for a result that looks like what the record has of a message or a Command: it stays the result that it is", async () => {
    for (const looks of [
      { oncekv_form: "command", command: { goto: ["elsewhere"] }, thrown: false },
      { lg_name: "Command", goto: ["elsewhere"] },
      { oncekv_form: "value", value: 1 },
    ]) {
      const [first, second] = await twice(
        tool(async () => looks, fields),
        "create_order",
        { envelope: false },
      );
      expect((first as ToolMessage).content).toBe(JSON.stringify(looks));
      expect((second as ToolMessage).content).toBe(JSON.stringify(looks));
    }
  });

  it("for nothing at all, and for what no record can hold, of which a replay says that it was not kept", async () => {
    const [none, again] = await twice(
      tool(async () => undefined, fields),
      "create_order",
    );
    expect(JSON.parse((none as ToolMessage).content as string)).toMatchObject({ was_replay: false });
    expect(JSON.parse((again as ToolMessage).content as string)).toMatchObject({ was_replay: true });
    const large = "x".repeat(2_000_000);
    const [first, second] = await twice(
      tool(async () => large, fields),
      "create_order",
      { envelope: false },
    );
    expect((first as ToolMessage).content).toBe(large);
    expect((second as ToolMessage).content).toContain("its result was not kept");
  });

  it("for a tool that yields: what it yields are events, and what it returns is the result", async () => {
    const { worker } = await openScene();
    const made = tool(async function* () {
      yield "half";
      yield "whole";
      return "done";
    }, fields);
    const guarded = guardTool(made, worker("A").calls, { scope: "job" });
    const events: unknown[] = [];
    const callbacks = [{ handleToolEvent: (chunk: unknown) => void events.push(chunk) }];
    expect(await guarded.invoke({}, { callbacks })).toMatchObject({ result: "done", was_replay: false });
    expect(await guarded.invoke({}, { callbacks })).toMatchObject({ result: "done", was_replay: true });
    expect(events).toEqual(["half", "whole"]);
  });
});

describe("a Command that a tool returns", () => {
  /** A graph that runs the same emission's tool calls, and ends where the Command says. */
  function graphOf(tools: readonly object[]) {
    return new StateGraph(MessagesAnnotation)
      .addNode("tools", new ToolNode(tools as never), { ends: ["billing"] })
      .addNode("billing", async () => ({ messages: [new AIMessage("billing was here")] }))
      .addEdge(START, "tools")
      .addEdge("billing", END)
      .compile({ checkpointer: new MemorySaver() });
  }

  const state = (id: string) => ({
    messages: [
      new HumanMessage({ content: "hi", id: "turn-1" }),
      new AIMessage({ content: "", tool_calls: [callOf("transfer_case", id)] }),
    ],
  });

  it("moves the graph and changes its state on a replay as well, and answers the new emission", async () => {
    const { worker } = await openScene();
    let transfers = 0;
    const transfer = tool(
      async (_args, config) => {
        transfers += 1;
        const answer = new ToolMessage({ content: "moved", tool_call_id: config.toolCall.id, id: "m-1" });
        return new Command({ goto: "billing", update: { messages: [answer] } });
      },
      { name: "transfer_case", schema: z.object({}) },
    );
    const run = async (name: string, id: string) => {
      const graph = graphOf(guardTools([transfer], worker(name).calls));
      const { messages } = await graph.invoke(state(id), thread);
      return messages.slice(2);
    };
    const [answer, moved] = await run("A", "one");
    expect(answer).toMatchObject({ content: "moved", tool_call_id: "one" });
    expect(moved?.content).toBe("billing was here");
    const [again, movedAgain] = await run("B", "two");
    expect(again).toBeInstanceOf(ToolMessage);
    expect(again).toMatchObject({ tool_call_id: "two" });
    expect(again?.content).toMatch(/^This call was made before.*\nmoved$/);
    expect(again?.id).not.toBe("m-1");
    expect(movedAgain?.content).toBe("billing was here");
    expect(transfers).toBe(1);
  });

  it("has its Sends again where the framework's class is given, and is else told to be not kept", async () => {
    const make = () =>
      tool(async () => new Command({ goto: [new Send("billing", { case: 7 })] }), {
        name: "transfer_case",
        schema: z.object({}),
      });
    const [first, second] = await twice(make(), "transfer_case", { Command });
    expect(second).toEqual(first);
    expect(second).toBeInstanceOf(Command);
    expect([(second as Command).goto].flat()[0]).toBeInstanceOf(Send);
    const [live, later] = await twice(make(), "transfer_case");
    expect(live).toBeInstanceOf(Command);
    expect(later).toBeInstanceOf(ToolMessage);
    expect((later as ToolMessage).content).toContain("its result was not kept");
  });

  it("thrown to the graph above goes there, on a replay too, and is entered once", async () => {
    const { worker } = await openScene();
    let entered = 0;
    const { ParentCommand } = await import("@langchain/langgraph");
    const escalate = tool(
      async () => {
        entered += 1;
        throw new ParentCommand(new Command({ graph: Command.PARENT, goto: "boss" }));
      },
      { name: "escalate", schema: z.object({}) },
    );
    for (const name of ["A", "B"]) {
      const guarded = guardTool(escalate, worker(name).calls, { scope: "job" });
      await expect(guarded.invoke({})).rejects.toMatchObject({
        name: "ParentCommand",
        is_bubble_up: true,
        command: { lg_name: "Command", graph: Command.PARENT, goto: ["boss"] },
      });
    }
    expect(entered).toBe(1);
  });
});

describe("an interrupt inside a tool", () => {
  it("of any kind that stops a graph goes on untouched, and the tool is entered again", async () => {
    const { worker } = await openScene();
    let stops: Error | undefined;
    let entered = 0;
    const transfer = tool(
      async () => {
        entered += 1;
        if (stops !== undefined) throw stops;
        return "done";
      },
      { name: "transfer_money", schema: z.object({}) },
    );
    const guarded = guardTool(transfer, worker("A").calls, { scope: "job" });
    for (stops of [new GraphDrained(), new NodeInterrupt("sure?"), new GraphInterrupt([])]) {
      await expect(guarded.invoke({})).rejects.toBe(stops);
    }
    stops = undefined;
    expect(await guarded.invoke({})).toMatchObject({ result: "done", was_replay: false });
    expect(entered).toBe(4);
  });

  it("parks its call, and on resume it is entered again while its finished sibling is not", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const transfers: unknown[] = [];
    const transfer = tool(
      async ({ amount }) => {
        const answer = interrupt({ approve: amount });
        transfers.push(answer);
        return `${amount} ${answer}`;
      },
      { name: "transfer_money", schema: z.object({ amount: z.number() }) },
    );
    for (const kind of ["ToolNode", "createAgent"] as const) {
      box.sent.length = 0;
      transfers.length = 0;
      const calls = [{ id: "a" }, { id: "b", name: "transfer_money", args: { amount: 5 } }];
      const model = scripted(calls);
      const checkpointer = new MemorySaver();
      const tools = [box.tool, transfer];
      const open = (name: string) =>
        kind === "createAgent"
          ? agentOf(model, tools, worker(name).calls, { checkpointer }).agent
          : nodeGraph(guardTools(tools, worker(name).calls), checkpointer, model);
      const where = { configurable: { thread_id: kind } };
      const stopped = await open("A").invoke({ messages: [new HumanMessage("pay and write")] }, where);
      expect(stopped).toHaveProperty("__interrupt__", [expect.objectContaining({ value: { approve: 5 } })]);
      expect([box.sent.length, transfers.length]).toEqual([1, 0]);
      await open("B").invoke(new Command({ resume: "approved" }), where);
      expect([box.sent.length, transfers]).toEqual([1, ["approved"]]);
      const texts = textsFor(model);
      expect(JSON.parse(texts["a"] ?? "")).toMatchObject({ result: { message: 1 } });
      expect(JSON.parse(texts["b"] ?? "")).toMatchObject({ result: "5 approved", was_replay: false });
    }
  });

  /** The loop of an agent with a ToolNode, which runs all calls of a step again when one of them was interrupted. */
  function nodeGraph(tools: readonly object[], checkpointer: MemorySaver, model: ReturnType<typeof scripted>) {
    model.respond(new AIMessage("done"));
    return new StateGraph(MessagesAnnotation)
      .addNode("model", async ({ messages }) => ({
        messages: [await model.bindTools(tools as never).invoke(messages)],
      }))
      .addNode("tools", new ToolNode(tools as never))
      .addEdge(START, "model")
      .addConditionalEdges("model", ({ messages }) =>
        (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
      )
      .addEdge("tools", "model")
      .compile({ checkpointer });
  }
});
