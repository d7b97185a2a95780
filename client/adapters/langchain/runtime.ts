import { createHash } from "node:crypto";

/*
 * What LangChain hands to a tool beside its arguments: the config of the run. A ToolNode spreads the state, the tool call and
 * its id into it. Everything is read with care, since tools are called in other ways as well.
 */

/** Where a call comes from. */
export interface CallPlace {
  readonly threadId: string | undefined;
  readonly toolCallId: string | undefined;
  /** Names the newest message of the user in the state that the tool was called for; undefined: nothing does for certain. */
  readonly turn: readonly (string | number)[] | undefined;
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
    turn: turnOf(memberOf(config, "state") ?? taskInputOf(configurable), isKept(configurable)),
    signal: signal instanceof AbortSignal ? signal : undefined,
  };
}

/**
 * In which equal arguments mean the same intent: the user's turn in the thread. It enters keys, which services get to see
 * and which a store shows: it says nothing of the thread or the user.
 *
 * @returns undefined: nothing says where the call belongs
 */
export function turnScope({ threadId, turn }: CallPlace): string | undefined {
  if (threadId === undefined || turn === undefined) return undefined;
  const text = JSON.stringify([threadId, ...turn]);
  return `turn-${createHash("sha256").update(text).digest("hex")}`;
}

/** A member of anything; undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** What the node that calls the tool was given, where it does not pass it on itself. */
function taskInputOf(configurable: unknown): unknown {
  return memberOf(memberOf(configurable, "__pregel_scratchpad"), "currentTaskInput");
}

/** Without a checkpointer a history is whatever was sent. */
function isKept(configurable: unknown): boolean {
  const checkpointer = memberOf(configurable, "__pregel_checkpointer");
  return typeof checkpointer === "object" && checkpointer !== null;
}

/**
 * The turn is named by the id that the application gave to the user's message. An id that the state made would not do: it
 * makes another one when the process dies before the first checkpoint with it is saved, which in the framework's default is
 * while the next steps run already. So the turn is else named by what the user said and how often it was said, as long as
 * that is known: "yes" for the second time is another turn.
 */
function turnOf(state: unknown, isWhole: boolean): readonly (string | number)[] | undefined {
  const messages = Array.isArray(state) ? state : memberOf(state, "messages");
  if (!Array.isArray(messages)) return undefined;
  const said = messages.filter((message, index) => isOfUser(message, messages[index - 1]));
  const id = textOf(memberOf(said.at(-1), "id"));
  if (id !== undefined && !isMadeByState(id)) return ["id", id];
  if (said.length === 0 || !isWhole || messages.some(isSummary)) return undefined;
  const words = said.map((message) => JSON.stringify(memberOf(message, "content")) ?? "");
  const last = words.at(-1) ?? "";
  return ["said", last, words.filter((each) => each === last).length];
}

function isMadeByState(id: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
}

/** Where it stands, something else is missing. */
function isSummary(message: unknown): boolean {
  return memberOf(memberOf(message, "additional_kwargs"), "lc_source") === "summarization";
}

/** Much goes under the user's name that a user has not said: summaries, reports of other agents, pictures that a tool took. */
function isOfUser(message: unknown, before: unknown): boolean {
  if (memberOf(message, "type") !== "human" || textOf(memberOf(message, "name")) !== undefined) return false;
  if (memberOf(memberOf(message, "additional_kwargs"), "lc_source") !== undefined) return false;
  return memberOf(before, "type") !== "tool" || hasText(memberOf(message, "content"));
}

function hasText(content: unknown): boolean {
  return Array.isArray(content)
    ? content.some((block) => textOf(memberOf(block, "text")) !== undefined)
    : textOf(content) !== undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
