import { readFile } from "node:fs/promises";

/** One line of `tool-calls.jsonl`: a tool call as an agent emitted it. */
export interface EmittedCall {
  /** Calls of one burst are in flight together; the next burst begins when all of them are answered. */
  readonly burst: number;
  /** The user's turn that the agent is working on. */
  readonly turn: string;
  readonly tool: "send_email" | "send_text";
  readonly args: { readonly [name: string]: unknown };
  /** The caller's own key, if it has one. */
  readonly key?: string;
  /** How this line came to be, for readers of the file. What should happen to the call is not judged by it. */
  readonly why: string;
}

export const toolCallsFile: URL = new URL("../tool-calls.jsonl", import.meta.url);

/** All calls, in the order in which they were emitted. */
export async function readToolCalls(): Promise<readonly EmittedCall[]> {
  const text = await readFile(toolCallsFile, "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as EmittedCall);
}
