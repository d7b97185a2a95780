import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { guardTool, guardTools } from "../../client/adapters/langchain/index.js";
import { openScene } from "../tool-calls/scene.js";
import { scripted } from "./langchain-scene.js";

const thread = { configurable: { thread_id: "thread-1" } };

interface Asked {
  readonly __interrupt__?: readonly { readonly id?: string; readonly value?: unknown }[];
}

interface Graph {
  invoke(input: unknown, config: typeof thread): Promise<unknown>;
}

/** A tool that asks before it acts, and notes which answer it acted on. */
function asking(name: string, got: string[], { schema = z.object({}), end = (): unknown => "ok" } = {}) {
  const run = async (): Promise<unknown> => {
    got.push(`${name}: ${interrupt(name)}`);
    return end();
  };
  return tool(run, { name, schema });
}

/** Answers each question that is asked with its own answer, until none is asked. */
async function answerAll(graph: Graph, asked: unknown, byId = false, questions: string[] = []): Promise<string[]> {
  const [first, ...others] = (asked as Asked).__interrupt__ ?? [];
  if (first === undefined || questions.length > 5) return questions;
  const answers = [first, ...others].map(({ id, value }) => [id ?? "", `for ${value}`] as const);
  const resume = others.length === 0 && !byId ? `for ${first.value}` : Object.fromEntries(answers);
  const next = await graph.invoke(new Command({ resume }), thread);
  return answerAll(graph, next, byId, [...questions, ...[first, ...others].map(({ value }) => String(value))]);
}

function nodeGraph(tools: readonly object[], checkpointer = new MemorySaver()): Graph {
  return new StateGraph(MessagesAnnotation)
    .addNode("tools", new ToolNode(tools as never))
    .addEdge(START, "tools")
    .addEdge("tools", END)
    .compile({ checkpointer }) as Graph;
}

/** A step in which a model calls all of these. */
function stepOf(...names: readonly string[]) {
  const calls = names.map((name, index) => ({ id: `call-${index}`, name, args: {} }));
  return { messages: [new HumanMessage("do it"), new AIMessage({ content: "", tool_calls: calls })] };
}

const both = ["transfer_a: for transfer_a", "transfer_b: for transfer_b"];

describe("an answer goes to the call that asked", () => {
  it.each(["v1", "v2"] as const)("of two that ask in one step of an agent %s", async (version) => {
    const { worker } = await openScene();
    const got: string[] = [];
    const model = scripted([
      { id: "1", name: "transfer_a", args: {} },
      { id: "2", name: "transfer_b", args: {} },
    ]).respond(new AIMessage("done"));
    const tools = guardTools([asking("transfer_a", got), asking("transfer_b", got)], worker("A").calls);
    const agent = createAgent({ model, tools: tools as never, checkpointer: new MemorySaver(), version });
    const asked = await agent.invoke({ messages: [new HumanMessage("both")] }, thread);
    await answerAll(agent as unknown as Graph, asked);
    expect(got).toEqual(both);
  });

  it("in the order in which they were called, however long the schema of the first one takes", async () => {
    const { worker } = await openScene();
    const got: string[] = [];
    const slow = z.object({}).refine(async () => {
      for (let turn = 0; turn < 200; turn++) await Promise.resolve();
      return true;
    });
    const first = asking("transfer_a", got, { schema: slow });
    const graph = nodeGraph(guardTools([first, asking("transfer_b", got)], worker("A").calls));
    const questions = await answerAll(graph, await graph.invoke(stepOf("transfer_a", "transfer_b"), thread));
    expect(questions).toEqual(["transfer_a", "transfer_b"]);
    expect(got).toEqual(both);
  });

  it.each([
    ["failed", (): unknown => Promise.reject(Object.assign(new Error("closed"), { outcome: "failed" })), 1],
    ["is in doubt", (): unknown => Promise.reject(new Error("reset")), 1],
    ["may be tried again", (): unknown => Promise.reject(Object.assign(new Error("429"), { status: 429 })), 2],
    ["has a result that no record keeps", (): unknown => 1n, 1],
  ])("beside one that %s after its own answer", async (_what, end, entered) => {
    const { worker } = await openScene();
    const got: string[] = [];
    const first = asking("transfer_a", got, { end });
    const graph = nodeGraph(guardTools([first, asking("transfer_b", got)], worker("A").calls, { envelope: false }));
    const asked = await graph.invoke(stepOf("transfer_a", "transfer_b"), thread);
    expect(await answerAll(graph, asked)).toEqual(["transfer_a", "transfer_b"]);
    expect(got.sort()).toEqual([...Array(entered).fill(both[0]), both[1]]);
  });

  it("and not to a question of the node itself that comes after it", async () => {
    const { worker } = await openScene();
    const got: string[] = [];
    const mail = guardTool(asking("send_mail", got), worker("A").calls);
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("node", async (_state, config) => {
        await mail.invoke({}, config);
        got.push(`node: ${interrupt("delete everything?")}`);
        return {};
      })
      .addEdge(START, "node")
      .compile({ checkpointer: new MemorySaver() }) as Graph;
    await answerAll(graph, await graph.invoke({ messages: [new HumanMessage("go")] }, thread));
    expect(got).toEqual(["send_mail: for send_mail", "node: for delete everything?"]);
  });

  it("when the worker died after the call that had it, before the checkpoint that knows of it", async () => {
    const { worker } = await openScene();
    const got: string[] = [];
    const saver = new DyingSaver();
    const end = (): string => {
      saver.isDead = true;
      return "ok";
    };
    const tools = [asking("transfer_a", got, { end }), asking("transfer_b", got)];
    const graph = nodeGraph(guardTools(tools, worker("A").calls), saver);
    await graph.invoke(stepOf("transfer_a", "transfer_b"), thread);
    await expect(graph.invoke(new Command({ resume: "for transfer_a" }), thread)).rejects.toThrow("dead");
    saver.isDead = false;
    const next = nodeGraph(guardTools(tools, worker("B").calls), saver);
    expect(await answerAll(next, await next.invoke(null, thread))).toEqual(["transfer_b"]);
    expect(got).toEqual(both);
  });
});

describe("guarded calls of one task", () => {
  it("run one after the other, and those within a call do not wait for it", async () => {
    const { worker } = await openScene();
    const log: string[] = [];
    const { calls } = worker("A");
    const inner = guardTool(
      tool(async ({ of }) => log.push(`inner of ${of}`), { name: "post", schema: z.object({ of: z.string() }) }),
      calls,
    );
    const outer = (name: string) =>
      tool(
        async (_args, config) => {
          log.push(`${name} begins`);
          await inner.invoke({ of: name }, config);
          log.push(`${name} ends`);
        },
        { name, schema: z.object({}) },
      );
    const graph = nodeGraph(guardTools([outer("send_a"), outer("send_b")], calls));
    await graph.invoke(stepOf("send_a", "send_b"), thread);
    expect(log).toEqual(["send_a", "send_b"].flatMap((name) => [`${name} begins`, `inner of ${name}`, `${name} ends`]));
  });

  it("keep the subgraphs of later calls apart from those of calls that are not made again", async () => {
    const { worker } = await openScene();
    const got: string[] = [];
    const running = (name: string) => {
      const subgraph = new StateGraph(MessagesAnnotation)
        .addNode("ask", async () => {
          got.push(`${name}: ${interrupt(name)}`);
          return {};
        })
        .addEdge(START, "ask")
        .compile();
      return tool(async () => void (await subgraph.invoke({ messages: [] })), { name, schema: z.object({}) });
    };
    const graph = nodeGraph(guardTools([running("transfer_a"), running("transfer_b")], worker("A").calls));
    // Without ids the framework gives an answer to every subgraph of the task, guarded or not.
    await answerAll(graph, await graph.invoke(stepOf("transfer_a", "transfer_b"), thread), true);
    expect(got).toEqual(both);
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
