import * as v6 from "ai";
import * as v7 from "ai-7";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { guardTools } from "../../../client/adapters/ai-sdk/index.js";
import { openScene } from "../../tool-calls/scene.js";
import { drivers, emit } from "./drivers.js";

const inputSchema = z.object({ cents: z.number() });
const five = { cents: 5 };

/** A tool that says itself what the model reads. */
function charging(said: (output: { readonly id: string }) => unknown) {
  const asked: unknown[] = [];
  return {
    asked,
    charge: {
      inputSchema,
      prefix: "charge",
      execute: async ({ cents }: { cents: number }) => ({ id: `c-${cents}` }),
      toModelOutput(this: { readonly prefix: string }, { output }: { output: { id: string } }) {
        asked.push([this.prefix, output]);
        return said(output) as { type: "text"; value: string };
      },
    },
  };
}

const note = expect.stringContaining("Nothing was done again");

describe.each(drivers)("what a tool of the AI SDK $version says itself to the model", ({ generate }) => {
  it.each([
    [
      { type: "text", value: "charged" },
      { type: "text", value: expect.stringMatching(/Nothing was done again.*\n\ncharged$/s) },
    ],
    [
      { type: "json", value: ["c"] },
      { type: "json", value: expect.objectContaining({ result: ["c"], note }) },
    ],
    [
      { type: "content", value: [{ type: "text", text: "charged" }] },
      {
        type: "content",
        value: [
          { type: "text", text: note },
          { type: "text", text: "charged" },
        ],
      },
    ],
    [{ type: "execution-denied" }, { type: "execution-denied" }],
  ])("it is asked about the bare result, and a replay's note stands beside its answer: %j", async (said, again) => {
    const { worker } = await openScene();
    const { asked, charge } = charging(() => said);
    const tools = guardTools({ charge }, worker("A").calls, { scope: "t" });
    const { seen } = await generate({ steps: [[emit("charge", five)], [emit("charge", five)]], tools: tools as never });
    expect(seen).toEqual([said, again]);
    expect(asked.length).toBeGreaterThanOrEqual(2);
    for (const each of asked) expect(each).toEqual(["charge", { id: "c-5" }]);
  });

  it.each([
    ["a code of its own", { refused: true, code: "card_declined", message: "no funds" }],
    ["more to say", { refused: true, code: "forbidden", message: "no", card: 7 }],
  ])("it is asked about a result of its own that is called refused and has %s", async (_, result) => {
    const { worker } = await openScene();
    const charge = {
      inputSchema,
      execute: async () => result,
      toModelOutput: () => ({ type: "text", value: "declined" }) as const,
    };
    const tools = guardTools({ charge }, worker("A").calls, { scope: "t", envelope: false });
    const { seen } = await generate({ steps: [[emit("charge", five)]], tools: tools as never });
    expect(seen).toEqual([{ type: "text", value: "declined" }]);
  });

  it("it is not asked about refusals, nor about what was not kept", async () => {
    const { worker } = await openScene();
    const { charge } = charging(({ id }) => ({ type: "text", value: id }));
    const { calls } = worker("A", { results: { maxBytes: 1 } });
    const tools = guardTools({ charge }, calls, { rules: { charge: { key: () => "order-7" } } });
    const steps = [[emit("charge", five)], [emit("charge", five)], [emit("charge", { cents: 6 })]];
    const { seen } = await generate({ steps, tools: tools as never });
    expect(seen).toMatchObject([
      { type: "text", value: "c-5" },
      { type: "text", value: expect.stringContaining("its result was not kept") },
      { type: "json", value: { refused: true, code: "idempotency_conflict" } },
    ]);
  });

  it("it is asked about bare results of a conversation from before the guard, and where no envelope is wanted", async () => {
    const { worker } = await openScene();
    const { charge } = charging(({ id }) => ({ type: "text", value: id }));
    const guarded = guardTools({ charge }, worker("A").calls, { scope: "t" });
    const question = { toolCallId: "c-1", input: five, output: { id: "old" } };
    expect(await (guarded.charge.toModelOutput as (question: unknown) => unknown)(question)).toMatchObject({
      value: "old",
    });
    const bare = guardTools({ charge }, worker("A").calls, { scope: "u", envelope: false });
    const { seen } = await generate({ steps: [[emit("charge", five)], [emit("charge", five)]], tools: bare as never });
    expect(seen).toEqual([
      { type: "text", value: "c-5" },
      { type: "text", value: "c-5" },
    ]);
  });
});

const schemas = [
  { kind: "zod", outputSchema: z.object({ id: z.string() }) },
  {
    kind: "jsonSchema() with a validator",
    outputSchema: v6.jsonSchema<{ id: string }>(
      { type: "object" },
      {
        validate: (value) =>
          typeof Reflect.get(Object(value), "id") === "string"
            ? { success: true, value: value as { id: string } }
            : { success: false, error: new Error("no id") },
      },
    ),
  },
  {
    kind: "a schema that is made when needed",
    outputSchema: () => v7.zodSchema(z.object({ id: z.string() })),
  },
];

describe("an output schema", () => {
  it.each(schemas)(
    "goes on judging the results of a stored conversation, in their envelope: $kind",
    async ({ outputSchema }) => {
      const { worker } = await openScene();
      const charge = { inputSchema, outputSchema, execute: async () => ({ id: "c-1" }) };
      const tools = guardTools({ charge }, worker("A").calls, { scope: "t" });
      const envelope = { was_replay: false, original_called_at: "2026-01-01T00:00:00.000Z" };
      const outputs = [
        [{ ...envelope, result: { id: "c-1" } }, true],
        [{ ...envelope, result: { id: 7 } }, false],
        [{ ...envelope, was_replay: true, result_omitted: "too_large" }, true],
        [{ refused: true, code: "call_parked", message: "wait" }, true],
        [{ id: "c-1" }, true],
        [{ id: 7 }, false],
      ] as const;
      for (const [output, valid] of outputs) {
        const part = { type: "tool-charge", toolCallId: "c-1", state: "output-available", input: five, output };
        const messages = [{ id: "m-1", role: "assistant", parts: [part] }];
        const judged = [
          await v6.safeValidateUIMessages({ messages, tools: tools as never }),
          await v7.safeValidateUIMessages({ messages, tools: tools as never }),
        ];
        expect([output, ...judged.map(({ success }) => success)]).toEqual([output, valid, valid]);
      }
    },
  );
});
