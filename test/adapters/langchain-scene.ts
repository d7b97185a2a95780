import { AIMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";
import { guardTools, type LangChainGuardOptions } from "../../client/adapters/langchain/index.js";
import type { ToolCalls } from "../../src/tool-calls/index.js";

/** A mailbox whose mails are the effects of a LangChain tool. */
export class Outbox {
  readonly sent: { to: string; subject: string }[] = [];
  /** Awaited after the mail is sent, and before its tool ends. */
  afterwards: () => Promise<void> = async () => {};

  readonly tool = tool(
    async ({ to, subject }) => {
      const number = this.sent.push({ to, subject });
      await this.afterwards();
      return { message: number };
    },
    {
      name: "send_email",
      description: "Sends a mail.",
      schema: z.object({ to: z.string(), subject: z.string().default("hello") }),
    },
  );
}

/** One emission of a scripted model. */
export interface Emission {
  readonly id: string;
  readonly name?: string;
  readonly args?: { readonly [name: string]: unknown };
}

/** A model that emits these calls, a list for each step, and then says that it is done. */
export function scripted(...steps: readonly (readonly Emission[])[]) {
  const model = fakeModel();
  for (const emissions of steps) {
    model.respondWithTools(emissions.map(({ id, name = "send_email", args = { to: "ann" } }) => ({ id, name, args })));
  }
  return model;
}

/** What the model was shown of its calls in its last prompt, by tool call id. */
export function shownTo(model: ReturnType<typeof fakeModel>): { [id: string]: ToolMessage } {
  const { messages } = model.calls.at(-1) ?? { messages: [] };
  const answers = messages.filter((message) => message.getType() === "tool") as ToolMessage[];
  return Object.fromEntries(answers.map((message) => [message.tool_call_id, message]));
}

/** The same, as text. */
export function textsFor(model: ReturnType<typeof fakeModel>): { [id: string]: string } {
  return Object.fromEntries(Object.entries(shownTo(model)).map(([id, { content }]) => [id, String(content)]));
}

/** An agent with guarded tools, in a thread. */
export function agentOf(
  model: ReturnType<typeof fakeModel>,
  tools: readonly object[],
  calls: ToolCalls,
  { checkpointer = new MemorySaver(), ...options }: LangChainGuardOptions & { checkpointer?: MemorySaver } = {},
) {
  model.respond(new AIMessage("done"));
  const agent = createAgent({ model, tools: guardTools(tools, calls, options) as never, checkpointer });
  const ask = (text: string, thread = "thread-1"): Promise<unknown> =>
    agent.invoke({ messages: [new HumanMessage(text)] }, { configurable: { thread_id: thread } });
  return { agent, ask, model };
}
