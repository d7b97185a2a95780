import { describe, expect, it } from "vitest";
import { z } from "zod";
import { guardTools } from "../../../client/adapters/ai-sdk/index.js";
import { openScene } from "../../tool-calls/scene.js";
import { drivers, emit, type Ran } from "./drivers.js";

const inputSchema = z.object({ order: z.number(), reason: z.string().default("") });
const order = { order: 7 };

function paying(needsApproval: boolean | ((input: { order: number }) => boolean)) {
  const paid: unknown[] = [];
  const messagesSeen: unknown[] = [];
  return {
    paid,
    messagesSeen,
    pay: {
      inputSchema,
      needsApproval,
      execute: async (input: { order: number; reason: string }, { messages }: { messages: readonly unknown[] }) => {
        messagesSeen.push(messages);
        return `payment ${paid.push(input)}`;
      },
    },
  };
}

/** The conversation with a person's word on what waits for one. */
function withWord({ messages, parts }: Ran, approved: boolean): readonly unknown[] {
  const requests = parts.filter((part) => Reflect.get(Object(part), "type") === "tool-approval-request");
  expect(requests.length).toBeGreaterThan(0);
  const content = requests.map((request) => {
    return { type: "tool-approval-response", approvalId: Reflect.get(Object(request), "approvalId"), approved };
  });
  // What is kept between the question and the answer is JSON.
  return JSON.parse(JSON.stringify([...messages, { role: "tool", content }]));
}

const replayed = { type: "json", value: expect.objectContaining({ result: "payment 1", was_replay: true }) };

describe.each(drivers)("a guarded tool that needs an approval in the AI SDK $version", ({ generate, stream }) => {
  it.each([
    ["always", true],
    ["for some inputs", (input: { order: number }) => input.order === 7],
  ] as const)(
    "fires once when the process dies after the approval and all is asked again: %s",
    async (_, needsApproval) => {
      const { worker } = await openScene();
      const { paid, pay } = paying(needsApproval);
      const options = { scope: "turn-1" };
      const before = await generate({
        steps: [[emit("pay", order)]],
        tools: guardTools({ pay }, worker("A").calls, options),
      });
      expect(paid).toEqual([]);
      const messages = withWord(before, true);
      const after = await generate({
        steps: ["thanks"],
        messages,
        tools: guardTools({ pay }, worker("B").calls, options),
      });
      expect(after.seen).toMatchObject([{ value: { result: "payment 1", was_replay: false } }]);
      // The process died before the conversation was kept: the same approval is worked on once more.
      const resumed = guardTools({ pay }, worker("C").calls, options);
      expect((await generate({ steps: ["thanks"], messages, tools: resumed })).seen).toEqual([replayed]);
      expect((await stream({ steps: ["thanks"], messages, tools: resumed })).seen).toEqual([replayed]);
      expect(paid).toEqual([{ order: 7, reason: "" }]);
    },
  );

  it("fires once for two approvals of the same intent", async () => {
    const { worker } = await openScene();
    const { paid, pay } = paying(true);
    const tools = guardTools({ pay }, worker("A").calls, { scope: "turn-1" });
    const before = await generate({ steps: [[emit("pay", order), emit("pay", { ...order, reason: "" })]], tools });
    const { seen } = await generate({ steps: ["thanks"], messages: withWord(before, true), tools });
    expect(seen).toEqual([{ type: "json", value: expect.objectContaining({ was_replay: false }) }, replayed]);
    expect(paid).toHaveLength(1);
  });

  it("leaves no record when it is denied, and fires when the same is approved later", async () => {
    const { worker } = await openScene();
    const { paid, pay } = paying(true);
    const { calls } = worker("A");
    const tools = guardTools({ pay }, calls, { scope: "turn-1" });
    const before = await generate({ steps: [[emit("pay", order)]], tools });
    const denied = await generate({ steps: ["pity"], messages: withWord(before, false), tools });
    expect(denied.seen).toMatchObject([{ type: "execution-denied" }]);
    expect([paid.length, (await calls.list()).calls.length]).toEqual([0, 0]);
    const asked = await generate({ steps: [[emit("pay", order)]], messages: denied.messages, tools });
    await generate({ steps: ["thanks"], messages: withWord(asked, true), tools });
    expect(paid).toHaveLength(1);
  });
});

describe("an approved call", () => {
  it("is the same intent whatever messages it comes with: none, as some agents do it", async () => {
    const { worker } = await openScene();
    const { paid, messagesSeen, pay } = paying(true);
    const { execute } = guardTools({ pay }, worker("A").calls, { scope: "turn-1" }).pay;
    const input = { order: 7, reason: "" };
    await execute(input, { toolCallId: "c-1", messages: [{ role: "user", content: "pay" }] } as never);
    expect(await execute(input, { toolCallId: "c-1", messages: [] } as never)).toMatchObject({ was_replay: true });
    expect([paid.length, messagesSeen.length]).toEqual([1, 1]);
  });
});
