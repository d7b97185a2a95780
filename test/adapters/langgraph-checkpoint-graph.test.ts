import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import {
  Annotation,
  BaseCheckpointSaver,
  Command,
  END,
  interrupt,
  MessagesDeltaValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it, onTestFinished } from "vitest";
import { guardTools } from "../../client/adapters/langchain/index.js";
import { checkpointSaver } from "../../client/adapters/langgraph-checkpoint/index.js";
import { openStore } from "../../src/level/index.js";
import { toolCalls } from "../../src/tool-calls/index.js";
import { FaultyNetwork } from "../tool-calls/faulty-network.js";
import { Outbox, scripted, textsFor } from "./langchain-scene.js";

const thread = { configurable: { thread_id: "thread-1" } };

/** A process's life: the store on disk is opened for it, and closed at its end. */
async function livesOf(): Promise<<T>(life: (world: World) => Promise<T>) => Promise<T>> {
  const dataDir = await mkdtemp(join(tmpdir(), "oncekv-graph-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  return async (life) => {
    const store = await openStore({ dataDir });
    // What the saver writes goes its own way, so that a process can die between an effect and its checkpoint.
    const network = new FaultyNetwork(store);
    const calls = toolCalls(store);
    try {
      return await life({ calls, network, saver: checkpointSaver(BaseCheckpointSaver, network.store) });
    } finally {
      await calls.close();
      await store.close();
    }
  };
}

/** A message of the model that emits the same mail under these tool call ids. */
function emitting(...ids: readonly string[]): AIMessage {
  const calls = ids.map((id) => ({ type: "tool_call" as const, id, name: "send_email", args: { to: "ann" } }));
  return new AIMessage({ content: "", tool_calls: calls });
}

interface World {
  readonly calls: ReturnType<typeof toolCalls>;
  readonly network: FaultyNetwork;
  readonly saver: ReturnType<typeof checkpointSaver<BaseCheckpointSaver>>;
}

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
});

function graphOf(saver: World["saver"]) {
  return new StateGraph(State)
    .addNode("plan", async () => ({ log: ["planned"] }))
    .addNode("ask", async () => ({ log: [`answer ${interrupt("sure?")}`] }))
    .addNode("act", async ({ log }) => ({ log: [`acted on ${log.length}`] }))
    .addEdge(START, "plan")
    .addEdge("plan", "ask")
    .addEdge("ask", "act")
    .addEdge("act", END)
    .compile({ checkpointer: saver });
}

describe("a graph whose threads are in a store", () => {
  it("waits for a person over restarts of its process, and goes on where it stood", async () => {
    const live = await livesOf();
    const asked = await live(({ saver }) => graphOf(saver).invoke({ log: ["begun"] }, thread));
    expect(asked).toHaveProperty("__interrupt__", [expect.objectContaining({ value: "sure?" })]);
    const waiting = await live(({ saver }) => graphOf(saver).getState(thread));
    expect(waiting.next).toEqual(["ask"]);
    expect(waiting.tasks[0]?.interrupts).toMatchObject([{ value: "sure?" }]);
    const done = await live(({ saver }) => graphOf(saver).invoke(new Command({ resume: "yes" }), thread));
    expect(done.log).toEqual(["begun", "planned", "answer yes", "acted on 3"]);
  });

  it("can be gone back in, and forks there: both ways stay as they were", async () => {
    const live = await livesOf();
    await live(async ({ saver }) => {
      await graphOf(saver).invoke({ log: ["begun"] }, thread);
      await graphOf(saver).invoke(new Command({ resume: "yes" }), thread);
    });
    await live(async ({ saver }) => {
      const graph = graphOf(saver);
      const history = [];
      for await (const state of graph.getStateHistory(thread)) history.push(state);
      expect(history.map(({ next }) => next[0])).toEqual([undefined, "act", "ask", "plan", "__start__"]);
      const beforeAct = history[1];
      const fork = await graph.updateState(beforeAct?.config ?? {}, { log: ["changed"] });
      const forked = await graph.invoke(null, fork);
      expect(forked.log).toEqual(["begun", "planned", "answer yes", "changed", "acted on 4"]);
      const old = await graph.getState(history[0]?.config ?? {});
      expect(old.values.log).toEqual(["begun", "planned", "answer yes", "acted on 3"]);
      await saver.deleteThread("thread-1");
      expect((await graph.getState(thread)).values).toEqual({});
    });
  });

  // The framework saves a step before the next one, or while that runs already: then the step of the model may be lost too.
  for (const durability of ["sync", "async"] as const) {
    it(`and whose tools are guarded has one effect, when its process dies before the checkpoint (${durability})`, async () => {
      const live = await livesOf();
      const box = new Outbox();
      let script = [emitting("a", "b"), new AIMessage("unheard")];
      const model = scripted();
      for (let step = 0; step < 6; step++) model.respond(() => script.shift() ?? new AIMessage("done"));
      const agentOf = ({ saver, calls }: World) =>
        createAgent({ model, tools: guardTools([box.tool], calls), checkpointer: saver });
      const first = live(async (world) => {
        box.afterwards = async () => {
          world.network.down = true;
        };
        const turn = { messages: [new HumanMessage("write to ann")] };
        await agentOf(world).invoke(turn, { ...thread, durability });
      });
      await expect(first).rejects.toMatchObject({ code: "unavailable" });
      expect(box.sent).toHaveLength(1);
      script = [emitting("c"), emitting("d")];
      await live((world) => agentOf(world).invoke(null, thread));
      expect(box.sent).toHaveLength(1);
      const texts = textsFor(model);
      expect(Object.keys(texts)).toEqual(
        expect.arrayContaining(durability === "sync" ? ["a", "b", "c", "d"] : ["c", "d"]),
      );
      for (const text of Object.values(texts)) {
        expect(JSON.parse(text)).toMatchObject({ result: { message: 1 }, was_replay: true });
      }
    });
  }

  it("serves two processes at once, and a run in each of them is whole", async () => {
    const live = await livesOf();
    await live(async ({ saver, network }) => {
      const other = checkpointSaver(BaseCheckpointSaver, network.store);
      const runs = [saver, other].map((each) => graphOf(each).invoke({ log: ["begun"] }, thread));
      await Promise.all(runs);
      const done = await graphOf(other).invoke(new Command({ resume: "yes" }), thread);
      expect(done.log.at(-1)).toBe(`acted on ${done.log.length - 1}`);
      for await (const { checkpoint } of saver.list(thread)) expect(checkpoint.v).toBe(4);
    });
  });
});

describe("a channel that is kept as its changes", () => {
  it("is refused where checkpoints expire, since its beginning would expire with them", async () => {
    const lives = await livesOf();
    await lives(async ({ network }) => {
      const graphOf = (ttl: number | null) =>
        new StateGraph(new StateSchema({ messages: MessagesDeltaValue }))
          .addNode("node", () => ({ messages: [new AIMessage("hello")] }))
          .addEdge(START, "node")
          .compile({ checkpointer: checkpointSaver(BaseCheckpointSaver, network.store, { ttl }) });
      const input = () => ({ messages: [new HumanMessage("hi")] });
      await expect(graphOf(60).invoke(input(), thread)).rejects.toMatchObject({ code: "invalid_request", path: "ttl" });
      const other = { configurable: { thread_id: "thread-2" } };
      for (const count of [2, 4]) expect((await graphOf(null).invoke(input(), other)).messages).toHaveLength(count);
    });
  });
});
