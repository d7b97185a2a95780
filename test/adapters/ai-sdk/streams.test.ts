import { describe, expect, it } from "vitest";
import { z } from "zod";
import { guardTools } from "../../../client/adapters/ai-sdk/index.js";
import { failureText } from "../../../src/tools/model-text.js";
import { openScene, settled } from "../../tool-calls/scene.js";
import { Gate } from "../../tools/tool-scene.js";
import { drivers, emit } from "./drivers.js";

const inputSchema = z.object({ topic: z.string() });
const topic = { topic: "sales" };

async function* chunks(): AsyncGenerator<string> {
  yield "sales";
  yield "sales rose";
}

/** The two ways in which a tool of the SDK streams. */
const ways = [
  {
    way: "an async generator function",
    toolOf: (made: () => AsyncIterable<string>) => ({
      inputSchema,
      async *execute() {
        yield* made();
      },
    }),
  },
  {
    way: "an ordinary function that returns an async iterable",
    toolOf: (made: () => AsyncIterable<string>) => ({ inputSchema, execute: () => made() }),
  },
];

/** What a reader of the stream gets of tool results, and which of them are said to be preliminary. */
function outputsOf(parts: readonly unknown[]): readonly unknown[] {
  const results = parts.filter((part) => (part as { type: string }).type === "tool-result");
  return results.map((part) => {
    const { output, preliminary = false } = part as { output: unknown; preliminary?: boolean };
    return [output, preliminary];
  });
}

const first = { result: "sales rose", was_replay: false, original_called_at: expect.any(String) };
const replay = { ...first, was_replay: true, note: expect.stringContaining("Nothing was done again") };

describe.each(drivers)("tools that stream in the AI SDK $version", ({ generate, stream }) => {
  it.each(ways)(
    "pass their chunks on live, and their replay is one chunk in the envelope: $way",
    async ({ toolOf }) => {
      const { worker } = await openScene();
      let fires = 0;
      const write_report = toolOf(() => {
        fires += 1;
        return chunks();
      });
      const tools = guardTools({ write_report }, worker("A").calls, { scope: "t" });
      const ran = await stream({ steps: [[emit("write_report", topic)]], tools });
      expect(outputsOf(ran.parts)).toEqual([
        ["sales", true],
        ["sales rose", true],
        [first, true],
        [first, false],
      ]);
      expect(ran.seen).toEqual([{ type: "json", value: first }]);
      const again = await stream({ steps: [[emit("write_report", topic)]], tools });
      expect(outputsOf(again.parts)).toEqual([
        [replay, true],
        [replay, false],
      ]);
      expect((await generate({ steps: [[emit("write_report", topic)]], tools })).seen).toMatchObject([
        { value: { was_replay: true } },
      ]);
      expect(fires).toBe(1);
    },
  );

  it.each(ways)("give a chunk to their reader before the next one is made: $way", async ({ toolOf }) => {
    const { worker } = await openScene();
    const gate = new Gate();
    const got: unknown[] = [];
    const tool = toolOf(async function* () {
      yield "on";
      await gate.opened;
      yield "once";
    });
    const { write_report } = guardTools({ write_report: tool }, worker("A").calls, { scope: "t" });
    const reading = (async () => {
      const options = { toolCallId: "c-1", messages: [] };
      for await (const chunk of (write_report.execute as never as Execute)(topic, options)) got.push(chunk);
    })();
    await settled();
    expect(got).toEqual(["on"]);
    gate.open();
    await reading;
    expect(got).toEqual(["on", "once", { ...first, result: "once" }]);
  });

  it("are recorded to the end when their reader leaves, and when nobody reads them", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const tools = guardTools({ write_report: { inputSchema, execute: () => chunks() } }, calls, { scope: "t" });
    const execute = tools.write_report.execute as never as Execute;
    for await (const chunk of execute(topic, {})) {
      expect(chunk).toBe("sales");
      break;
    }
    await settled();
    expect(await execute(topic, {})).toEqual(replay);
    expect(await execute({ topic: "costs" }, {})).toEqual(first);
  });

  it("are recorded to the end when their reader leaves before it has asked for a chunk", async () => {
    const { worker } = await openScene();
    const tools = guardTools({ write_report: { inputSchema, execute: () => chunks() } }, worker("A").calls, {
      scope: "t",
    });
    const execute = tools.write_report.execute as never as Execute;
    const answer = execute(topic, {});
    await answer[Symbol.asyncIterator]().return?.();
    expect(await answer).toEqual(first);
    expect(await execute(topic, {})).toEqual(replay);
  });

  it("answer with their last chunk where the envelope is not wanted, and once", async () => {
    const { worker } = await openScene();
    const options = { scope: "t", envelope: false } as const;
    const tools = guardTools({ write_report: { inputSchema, execute: () => chunks() } }, worker("A").calls, options);
    const outputs = async () => outputsOf((await stream({ steps: [[emit("write_report", topic)]], tools })).parts);
    expect(await outputs()).toEqual([
      ["sales", true],
      ["sales rose", true],
      ["sales rose", false],
    ]);
    expect(await outputs()).toEqual([
      ["sales rose", true],
      ["sales rose", false],
    ]);
  });

  it("tell the model that a call broke off half way, after the chunks that came", async () => {
    const { worker } = await openScene();
    const write_report = {
      inputSchema,
      async *execute() {
        yield "sales";
        throw new Error("no more paper");
      },
    };
    const tools = guardTools({ write_report }, worker("A").calls, { scope: "t", envelope: false });
    const { seen, parts } = await stream({ steps: [[emit("write_report", topic)]], tools });
    const message = failureText("unknown", "no more paper.");
    expect(seen).toEqual([{ type: "json", value: { refused: true, code: "needs_review", message } }]);
    expect(outputsOf(parts)[0]).toEqual(["sales", true]);
  });

  it("and those that may but do not answer with one chunk, which is also a promise", async () => {
    const { worker } = await openScene();
    const send_it = { inputSchema, execute: () => Promise.resolve("sent") };
    const tools = guardTools({ send_it }, worker("A").calls, { scope: "t" });
    const { seen } = await generate({ steps: [[emit("send_it", topic)]], tools });
    expect(seen).toEqual([{ type: "json", value: { ...first, result: "sent" } }]);
    expect(await tools.send_it.execute(topic, { tool_call_id: "c-1" } as never)).toMatchObject({ was_replay: true });
  });
});

type Execute = (input: unknown, options: unknown) => AsyncIterable<unknown> & PromiseLike<unknown>;
