/*
 * What LangChain hands to a tool beside its arguments: the config of the run. A ToolNode spreads the state, the tool call and
 * its id into it. Everything is read with care, since tools are called in other ways as well.
 */

/** Where a call comes from. */
export interface CallPlace {
  readonly threadId: string | undefined;
  readonly toolCallId: string | undefined;
  /** The id of the newest message of the user in the state that the tool was called for. */
  readonly turnId: string | undefined;
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
    turnId: turnOf(memberOf(config, "state")) ?? turnOf(taskInputOf(configurable)),
    signal: signal instanceof AbortSignal ? signal : undefined,
  };
}

/**
 * In which equal arguments mean the same intent: the user's turn. A message gets its id when it enters the state and keeps it
 * in the checkpoints, so that the same turn has it after a crash or a resume, and another turn another one.
 *
 * @returns undefined: nothing says where the call belongs
 */
export function turnScope({ threadId, turnId }: CallPlace): string | undefined {
  if (threadId === undefined) return undefined;
  return JSON.stringify(turnId === undefined ? [threadId] : [threadId, turnId]);
}

/** A member of anything; undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** What the node that calls the tool was given, where it does not pass it on itself. */
function taskInputOf(configurable: unknown): unknown {
  return memberOf(memberOf(configurable, "__pregel_scratchpad"), "currentTaskInput");
}

function turnOf(state: unknown): string | undefined {
  const messages = Array.isArray(state) ? state : memberOf(state, "messages");
  if (!Array.isArray(messages)) return undefined;
  const last: unknown = messages.findLast((message: unknown) => memberOf(message, "type") === "human");
  return textOf(memberOf(last, "id"));
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
