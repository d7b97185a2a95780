import { AIMessage, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, Command, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callOf, guardTool } from "../../client/adapters/langchain/index.js";
import { openScene } from "../tool-calls/scene.js";
import { agentOf, Outbox, scripted, textsFor } from "./langchain-scene.js";

const thread = { configurable: { thread_id: "thread-1" } };
const again = [{ id: "b", name: "send_email", args: { to: "ann" } }];

describe("a turn of the user", () => {
  it("is another one in the same words, also when the history was trimmed, if its message has an id", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const { agent, model } = agentOf(scripted([{ id: "a" }]), [box.tool], worker("A").calls);
    const ask = (id: string) => agent.invoke({ messages: [new HumanMessage({ id, content: "write to ann" })] }, thread);
    await ask("request-1");
    const { messages } = (await agent.graph.getState(thread)).values;
    const removed = messages.map(({ id }: { id: string }) => new RemoveMessage({ id }));
    await agent.graph.updateState(thread, { messages: removed });
    model.respondWithTools(again).respond(new AIMessage("done"));
    await ask("request-2");
    expect(box.sent).toHaveLength(2);
    model.respondWithTools(again).respond(new AIMessage("done"));
    await ask("request-2");
    expect(box.sent).toHaveLength(2);
  });

  it("is not guessed where a summary has taken earlier messages away, unless the user's has an id", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const guarded = guardTool(box.tool, worker("A").calls);
    const summary = new HumanMessage({ content: "So far:", additional_kwargs: { lc_source: "summarization" } });
    const configurable = { ...thread.configurable, __pregel_checkpointer: new MemorySaver() };
    const sendIn = (...messages: readonly HumanMessage[]) =>
      guarded.invoke({ to: "ann" }, { configurable, state: { messages } } as object);
    const needed = { code: "invalid_request", path: "scope" };
    await expect(sendIn(summary)).rejects.toMatchObject(needed);
    const made = crypto.randomUUID();
    await expect(sendIn(summary, new HumanMessage({ id: made, content: "yes" }))).rejects.toMatchObject(needed);
    await sendIn(summary, new HumanMessage({ id: "request-1", content: "yes" }));
    expect(box.sent).toHaveLength(1);
  });

  it.each([
    ["a notice", new HumanMessage({ content: "It is late.", additional_kwargs: { lc_source: "clock" } })],
    ["another agent's report", new HumanMessage({ content: "I have looked.", name: "researcher" })],
    [
      "a picture that a tool took",
      new HumanMessage({ content: [{ type: "image_url", image_url: { url: "data:," } }] }),
    ],
  ])("is not begun by %s", async (_what, added) => {
    const { worker } = await openScene();
    const box = new Outbox();
    const look = tool(
      async (_args, config) => {
        const answer = new ToolMessage({ content: "", tool_call_id: config.toolCall?.id ?? "" });
        return new Command({ update: { messages: [answer, added] } });
      },
      { name: "get_page", schema: z.object({}) },
    );
    const model = scripted([{ id: "a" }], [{ id: "look", name: "get_page", args: {} }], again);
    await agentOf(model, [box.tool, look], worker("A").calls).ask("write to ann, and look");
    expect(box.sent).toHaveLength(1);
    expect(JSON.parse(textsFor(model)["b"] ?? "")).toMatchObject({ was_replay: true });
  });

  it("is not guessed: without messages, or a checkpointer that keeps them, a scope is asked for", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const guarded = guardTool(box.tool, worker("A").calls);
    const needed = { code: "invalid_request", path: "scope" };
    const state = Annotation.Root({ task: Annotation<string>() });
    const graph = new StateGraph(state)
      .addNode("node", async (_state, config) => {
        await guarded.invoke({ to: "ann" }, config);
        return {};
      })
      .addEdge(START, "node")
      .compile({ checkpointer: new MemorySaver() });
    await expect(graph.invoke({ task: "x" }, thread)).rejects.toMatchObject(needed);
    const messages = [new HumanMessage("x")];
    await expect(guarded.invoke({ to: "ann" }, { ...thread, state: { messages } } as object)).rejects.toMatchObject(
      needed,
    );
    expect(box.sent).toEqual([]);
  });

  it("does not narrow a rule's key, which counts everywhere unless a scope is given", async () => {
    const { worker } = await openScene();
    const box = new Outbox();
    const rules = { send_email: { key: ({ to }: { to: string }) => to } };
    const { ask, model } = agentOf(scripted([{ id: "a" }]), [box.tool], worker("A").calls, { rules });
    await ask("write to ann");
    model.respondWithTools(again).respond(new AIMessage("done"));
    await ask("make sure that ann has it", "thread-2");
    expect(box.sent).toHaveLength(1);
    const scopeOf = ({ configurable }: { configurable?: { readonly [name: string]: unknown } | undefined }) =>
      String(configurable?.["thread_id"]);
    const scoped = agentOf(scripted(again), [box.tool], worker("A").calls, { rules, scopeOf });
    await scoped.ask("write to ann");
    expect(box.sent).toHaveLength(2);
  });

  it("is in the key as a hash, whatever the thread is called and the user says", async () => {
    const { worker } = await openScene();
    const keys: (string | undefined)[] = [];
    const charge = tool(async (_args, config) => void keys.push(callOf(config)?.headers["Idempotency-Key"]), {
      name: "charge",
      schema: z.object({}),
    });
    const call = { id: "a", name: "charge", args: {} };
    for (const name of ["ann@example.com", "x".repeat(1000)]) {
      await agentOf(scripted([call]), [charge], worker("A").calls).ask("my PIN is 4711, pay", name);
    }
    expect(keys).toHaveLength(2);
    for (const key of keys) expect(key).toMatch(/^turn-[0-9a-f]{64}\/charge:[0-9a-zA-Z_-]+$/);
    expect(new Set(keys).size).toBe(2);
  });
});
