import { readCallMeta } from "../../client/adapters/mcp/call-meta.js";
import type { ErrorResultMeaning } from "../../client/adapters/mcp/error-result.js";
import { type McpToolResult, resultOfOutcome, resultOfRefusal } from "../../client/adapters/mcp/tool-result.js";
import { InvalidRequestError, OnceKvError } from "../../src/base/errors.js";
import type { ToolCallOutcome, ToolCallPolicy, ToolCalls } from "../../src/tool-calls/index.js";
import { guardTool, type ToolRefusal, type ToolTimes } from "../../src/tools/index.js";
import { madeInOtherForm } from "../../src/tools/model-text.js";
import { refusalOf } from "../../src/tools/refusal.js";
import { errorLine, isObject, lineOf, memberOf, type RequestId, resultLine, rpcCodes } from "./json-rpc.js";
import type { CallMessage } from "./routing.js";
import {
  classOfThrow,
  errorOf,
  InputRequired,
  isBeforeTool,
  isTaskResult,
  resultOfReply,
  type ServerReply,
} from "./server-reply.js";
import type { ListedTool } from "./tool-list.js";

/** What is the same for all guarded calls of a connection. */
export interface CallGuard {
  readonly calls: ToolCalls;
  /** The name of the server, in which equal arguments of one tool mean the same intent. */
  readonly scope: string;
  /** How long a call is remembered, in seconds. */
  readonly window: number;
}

/** A call that is to be guarded, and how. */
export interface GuardedCallRequest {
  readonly id: RequestId;
  readonly message: CallMessage;
  readonly policy: ToolCallPolicy;
  /** What a result with `isError` means. */
  readonly errors: ErrorResultMeaning;
  /** What the server's list says of the tool, if anything. */
  readonly listed: ListedTool | undefined;
  /** Ends the waiting for somebody else's call. It does not end a call that was begun. */
  readonly signal: AbortSignal;
  /** Sends the call to the server; resolves with what comes back, and never rejects. */
  readonly send: () => Promise<ServerReply>;
}

/**
 * The lease of a call, renewed at every third of it while the server works. A proxy that was killed holds its calls up for so
 * long: shorter than what `waitTimeout` lets the next caller wait, and that shorter than the minute after which clients give
 * up, so that a call in doubt is answered and not timed out. Longer than any pause of a proxy that does nothing but pass
 * lines on, and than the restart of a server that keeps the records.
 */
const leaseSeconds = 20;
const waitSeconds = 30;
/** How long a tool may work. A server that hangs would hold its calls for ever. */
const runSeconds = 6 * 3600;

/** The times of guarded calls. @param window seconds */
export function timesFor(window: number): { readonly [Name in keyof ToolTimes]-?: number } {
  return {
    pendingTtl: Math.min(leaseSeconds, window),
    completedTtl: window,
    failedTtl: Math.min(300, window),
    waitTimeout: Math.min(waitSeconds, window),
    maxRunTime: runSeconds,
  };
}

/**
 * Makes a call at most once, or answers it without.
 *
 * @returns the line for the client; undefined: it has given the call up
 */
export async function answerGuarded(guard: CallGuard, request: GuardedCallRequest): Promise<Buffer | undefined> {
  const { id, message, policy, errors, signal, send } = request;
  const { tool, args, meta } = message;
  let reply: ServerReply | undefined;
  let key: string | undefined;
  const classify = (error: unknown) => classOfThrow(error, reply, tool, errors);
  try {
    const intent = readCallMeta(meta);
    const guarded = guardTool(
      {
        name: tool,
        execute: async (_args: unknown, _options: unknown, call: { readonly key: string }): Promise<McpToolResult> => {
          key = call.key;
          reply = await send();
          return resultOfReply(reply, tool, errors);
        },
      },
      guard.calls,
      {
        rules: { [tool]: { policy, classify, times: timesFor(guard.window) } },
        failures: "return",
        isInterrupt: (error) => error instanceof InputRequired,
        envelope: (outcome) => ({ outcome }),
      },
    );
    const scope = scopeOf(guard.scope, intent.scope);
    const answer = await guarded.execute(args, { key: intent.key, scope, signal });
    if ("outcome" in answer) return lineOfOutcome(request, answer.outcome);
    return lineOfFailure(request, answer, key, reply);
  } catch (error) {
    if (error instanceof InputRequired && reply?.reply === "answered") return lineOf({ ...reply.message, id });
    // A call that was begun is answered also to a client that has given it up, and whoever writes the answer drops it.
    if (reply === undefined && signal.aborted) return undefined;
    return lineOfError(request, error, key !== undefined);
  }
}

/** No two different pairs look alike, and what people give to `oncekv calls` needs no quotes but those of their shell. */
function scopeOf(ofServer: string, ofClient: string | undefined): string {
  const escaped = (text: string): string => text.replaceAll("%", "%25").replaceAll("&", "%26");
  return ofClient === undefined ? escaped(ofServer) : `${escaped(ofServer)}&${escaped(ofClient)}`;
}

/** A result as the version of the protocol wants it that the request is of: newer ones say of each what kind it is. */
function answerLine({ id, message }: GuardedCallRequest, result: object): Buffer {
  const needsType = memberOf(message.meta, versionMember) !== undefined && !("resultType" in result);
  return resultLine(id, needsType ? { resultType: "complete", ...result } : result);
}

/** In the `_meta` of each request since the version of the protocol that has no beginning. */
const versionMember = "io.modelcontextprotocol/protocolVersion";

function lineOfOutcome(request: GuardedCallRequest, outcome: ToolCallOutcome<unknown>): Buffer {
  const { id, message, listed } = request;
  const { asTask } = message;
  const isTask = isTaskResult(outcome.result);
  if (outcome.was_replay && isTask !== asTask && !isFreeTask(outcome.result)) {
    const made = isTask ? "as a task" : "without a task";
    return errorLine(id, rpcCodes.invalidParams, madeInOtherForm(outcome.original_called_at, made));
  }
  const result = resultOfOutcome(outcome);
  // There is nothing that would fit the schema. As an error clients let it pass, and the model reads the note.
  const misfit = outcome.result_omitted !== undefined && outcome.was_replay && listed?.hasOutputSchema === true;
  if (!isTask) return answerLine(request, misfit ? { ...result, isError: true } : result);
  // Who asked for a task reads the task, and finds no content there.
  const { content: _, ...task } = result;
  return answerLine(request, task);
}

/** A task that the server made unasked, as newer versions of the protocol allow: it fits every caller. */
function isFreeTask(result: unknown): boolean {
  return memberOf(result, "resultType") === "task";
}

/** What the first caller of a failed call gets: the server's own answer, with what follows from it in front. */
function lineOfFailure(
  request: GuardedCallRequest,
  refusal: ToolRefusal,
  key: string | undefined,
  reply: ServerReply | undefined,
): Buffer {
  const {
    id,
    message: { tool },
  } = request;
  if (reply?.reply !== "answered") return refusalError(id, refusal, key);
  const { message } = reply;
  // What is wrong with the arguments the caller may put right.
  if (isBeforeTool(reply, tool)) return lineOf({ ...message, id });
  const error = errorOf(message);
  if (error !== undefined) {
    const code = memberOf(error, "code") ?? rpcCodes.internal;
    return lineOf({ ...message, id, error: { ...(isObject(error) ? error : {}), code, message: refusal.message } });
  }
  const result = message["result"];
  return answerLine(request, resultOfRefusal(refusal, key, result as McpToolResult));
}

function lineOfError(request: GuardedCallRequest, error: unknown, entered: boolean): Buffer {
  const { id, message } = request;
  if (error instanceof InvalidRequestError) return errorLine(id, rpcCodes.invalidParams, error.message);
  const refusal = refusalOf(error, entered);
  if (refusal === undefined) {
    const code =
      error instanceof OnceKvError && error.code === "too_large" ? rpcCodes.invalidParams : rpcCodes.internal;
    return errorLine(id, code, error instanceof Error ? error.message : "the call could not be guarded");
  }
  const found = error instanceof Error && "key" in error && typeof error.key === "string" ? error.key : undefined;
  // Who asked for a task would take a result for none.
  return message.asTask ? refusalError(id, refusal, found) : answerLine(request, resultOfRefusal(refusal, found));
}

function refusalError(id: RequestId, { code, message, retry_after }: ToolRefusal, key: string | undefined): Buffer {
  return errorLine(id, rpcCodes.server, message, { code, key, retry_after });
}
