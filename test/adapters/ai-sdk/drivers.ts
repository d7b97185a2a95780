import * as v6 from "ai";
import { MockLanguageModelV3 } from "ai/test";
import * as v7 from "ai-7";
import { MockLanguageModelV4 } from "ai-7/test";

/*
 * The two versions of the AI SDK, as far as tests drive them in the same way: a real `generateText` or `streamText` over the
 * SDK's own mock model, which follows a script.
 */

/** What the model emits in one step: calls, or words. */
export type Step = readonly Emission[] | string;

export interface Emission {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** Tools that both versions take. */
export type Tools = v6.ToolSet & v7.ToolSet;

export interface Asked {
  readonly steps: readonly Step[];
  readonly tools: Tools;
  /** The conversation so far; a question of the user when absent. */
  readonly messages?: readonly unknown[];
  readonly abortSignal?: AbortSignal;
  /** What version 6 calls `experimental_context`; in version 7 each tool has its own. */
  readonly context?: unknown;
}

/** How an agent's run went. */
export interface Ran {
  /** The tool results in the prompt of the model's last step, in their order. */
  readonly seen: readonly unknown[];
  /** The conversation with what was added to it. */
  readonly messages: readonly unknown[];
  /** The parts of the answer as they came, when it was streamed; else those of the last step. */
  readonly parts: readonly unknown[];
}

export interface Driver {
  readonly version: 6 | 7;
  generate(asked: Asked): Promise<Ran>;
  stream(asked: Asked): Promise<Ran>;
}

let emitted = 0;

/** A call as a model emits it, with an id that is new each time. */
export function emit(name: string, input: unknown): Emission {
  emitted += 1;
  return { id: `call-${emitted}`, name, input };
}

const question = [{ role: "user" as const, content: "please" }];
const stepsMax = 9;

function generate6(model: MockLanguageModelV3, { tools, messages, abortSignal, context }: Asked) {
  return {
    model,
    tools,
    messages: (messages ?? question) as v6.ModelMessage[],
    stopWhen: v6.stepCountIs(stepsMax),
    maxRetries: 0,
    ...(abortSignal === undefined ? {} : { abortSignal }),
    ...(context === undefined ? {} : { experimental_context: context }),
  };
}

function generate7(model: MockLanguageModelV4, { tools, messages, abortSignal, context }: Asked) {
  return {
    model,
    tools,
    messages: (messages ?? question) as v7.ModelMessage[],
    stopWhen: v7.isStepCount(stepsMax),
    maxRetries: 0,
    ...(abortSignal === undefined ? {} : { abortSignal }),
    ...(context === undefined ? {} : { toolsContext: context as never }),
  };
}

export const driver6: Driver = {
  version: 6,
  async generate(asked) {
    const model = scripted6(asked.steps);
    const { response, content } = await v6.generateText(generate6(model, asked));
    return ranOf(model.doGenerateCalls, [...(asked.messages ?? question), ...response.messages], content);
  },
  async stream(asked) {
    const model = scripted6(asked.steps);
    const { fullStream, response } = v6.streamText(generate6(model, asked));
    const parts = await allOf(fullStream);
    return ranOf(model.doStreamCalls, [...(asked.messages ?? question), ...(await response).messages], parts);
  },
};

export const driver7: Driver = {
  version: 7,
  async generate(asked) {
    const model = scripted7(asked.steps);
    const { responseMessages, content } = await v7.generateText(generate7(model, asked));
    return ranOf(model.doGenerateCalls, [...(asked.messages ?? question), ...responseMessages], content);
  },
  async stream(asked) {
    const model = scripted7(asked.steps);
    const { fullStream, responseMessages } = v7.streamText(generate7(model, asked));
    const parts = await allOf(fullStream);
    return ranOf(model.doStreamCalls, [...(asked.messages ?? question), ...(await responseMessages)], parts);
  },
};

export const drivers: readonly Driver[] = [driver6, driver7];

function scripted6(steps: readonly Step[]): MockLanguageModelV3 {
  const left = [...steps];
  return new MockLanguageModelV3({
    doGenerate: async () => answerOf(left.shift() ?? "done"),
    doStream: async () => ({ stream: readable<Part>(streamedOf(left.shift() ?? "done")) }),
  });
}

function scripted7(steps: readonly Step[]): MockLanguageModelV4 {
  const left = [...steps];
  return new MockLanguageModelV4({
    doGenerate: async () => answerOf(left.shift() ?? "done"),
    doStream: async () => ({ stream: readable<Part>(streamedOf(left.shift() ?? "done")) }),
  });
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function callPart({ id, name, input }: Emission) {
  return { type: "tool-call" as const, toolCallId: id, toolName: name, input: JSON.stringify(input) };
}

function finishOf(step: Step) {
  return { unified: typeof step === "string" ? ("stop" as const) : ("tool-calls" as const), raw: undefined };
}

function answerOf(step: Step) {
  const content = typeof step === "string" ? [{ type: "text" as const, text: step }] : step.map(callPart);
  return { content, finishReason: finishOf(step), usage, warnings: [] };
}

type Part =
  | ReturnType<typeof callPart>
  | { readonly type: "text-start" | "text-end"; readonly id: string }
  | { readonly type: "text-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "finish"; readonly finishReason: ReturnType<typeof finishOf>; readonly usage: typeof usage };

function streamedOf(step: Step): readonly Part[] {
  const said: readonly Part[] =
    typeof step === "string"
      ? [
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: step },
          { type: "text-end", id: "t" },
        ]
      : step.map(callPart);
  return [...said, { type: "finish", finishReason: finishOf(step), usage }];
}

function readable<T>(chunks: readonly T[]): ReadableStream<T> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function allOf(stream: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const parts: unknown[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

function ranOf(
  asked: readonly { readonly prompt: readonly { readonly role: string; readonly content: unknown }[] }[],
  messages: readonly unknown[],
  parts: readonly unknown[],
): Ran {
  const toolMessages = (asked.at(-1)?.prompt ?? []).filter(({ role }) => role === "tool");
  const seen = toolMessages.flatMap(({ content }) =>
    (content as { readonly output: unknown }[]).map((part) => part.output),
  );
  return { seen, messages, parts };
}
