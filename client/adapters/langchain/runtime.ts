import { createHash } from "node:crypto";

/*
 * What LangChain hands to a tool beside its arguments: the config of the run. A ToolNode spreads the state, the tool call and
 * its id into it. Everything is read with care, since tools are called in other ways as well.
 */

/** Where a call comes from. */
export interface CallPlace {
  readonly threadId: string | undefined;
  readonly toolCallId: string | undefined;
  /** Names the newest message of the user in the state that the tool was called for. */
  readonly turn: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Reads the config that a tool is entered with. */
export function placeOf(config: unknown): CallPlace {
  const configurable = memberOf(config, "configurable");
  const threadId = memberOf(configurable, "thread_id");
  const signal = memberOf(config, "signal");
  return {
    threadId: typeof threadId === "number" ? String(threadId) : textOf(threadId),
    toolCallId: textOf(memberOf(config, "toolCallId")) ?? textOf(memberOf(memberOf(config, "toolCall"), "id")),
    turn: turnOf(memberOf(config, "state")) ?? turnOf(taskInputOf(configurable)),
    signal: signal instanceof AbortSignal ? signal : undefined,
  };
}

/**
 * In which equal arguments mean the same intent: the user's turn in the thread.
 *
 * @returns undefined: nothing says where the call belongs
 */
export function turnScope({ threadId, turn }: CallPlace): string | undefined {
  if (threadId === undefined) return undefined;
  return JSON.stringify(turn === undefined ? [threadId] : [threadId, turn]);
}

/** A member of anything; undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** What the node that calls the tool was given, where it does not pass it on itself. */
function taskInputOf(configurable: unknown): unknown {
  return memberOf(memberOf(configurable, "__pregel_scratchpad"), "currentTaskInput");
}

/**
 * The turn is named by what the user said, and by how often it was said: "yes" for the second time is another turn. The
 * message's id would not do. Where the user gives none the state makes one, and it makes another one when the process dies
 * before the first checkpoint with it is saved, which in the framework's default is while the next steps run already.
 */
function turnOf(state: unknown): string | undefined {
  const messages = Array.isArray(state) ? state : memberOf(state, "messages");
  if (!Array.isArray(messages)) return undefined;
  const said = messages
    .filter((message: unknown) => memberOf(message, "type") === "human")
    .map((message: unknown) => JSON.stringify(memberOf(message, "content")) ?? "");
  const last = said.at(-1);
  if (last === undefined) return undefined;
  const count = said.filter((each) => each === last).length;
  return `${count}:${createHash("sha256").update(last).digest("hex")}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
