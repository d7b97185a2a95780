import { ErrorResult, type ErrorResultMeaning } from "../../client/adapters/mcp/error-result.js";
import { asksForInput, type McpToolResult } from "../../client/adapters/mcp/tool-result.js";
import type { FailureClass } from "../../src/tool-calls/index.js";
import { isObject, type JsonObject, memberOf, rpcCodes } from "./json-rpc.js";
import type { LinkFailure } from "./server-link.js";

/*
 * What a server's answer to a guarded call means: the tool's result, a question before it can go on, or a failure, of which
 * it must be said whether there may have been an effect.
 */

/** What came back for a guarded call: an answer, or the news that there will be none. */
export type ServerReply =
  | { readonly reply: "answered"; readonly message: JsonObject }
  | { readonly reply: "lost"; readonly failure: LinkFailure };

/** The server asks for something before its tool goes on: nothing was done yet. */
export class InputRequired extends Error {}

/** The call failed outside of the tool's own words: an error of the protocol, or no answer at all. */
class FailedReply extends Error {
  readonly outcome: FailureClass;

  constructor(message: string, outcome: FailureClass) {
    super(message);
    this.name = "FailedReply";
    this.outcome = outcome;
  }
}

/**
 * The result of the tool.
 *
 * @param errors what a result with `isError` means
 * @throws InputRequired, ErrorResult and FailedReply, as what the call is recorded
 */
export function resultOfReply(reply: ServerReply, tool: string, errors: ErrorResultMeaning): McpToolResult {
  if (reply.reply === "lost") {
    const { message, nothingBegun } = reply.failure;
    throw new FailedReply(message, nothingBegun ? "retryable" : "unknown");
  }
  const { message } = reply;
  const error = errorOf(message);
  if (error !== undefined) throw new FailedReply(messageOf(error), isBeforeTool(reply, tool) ? "retryable" : "unknown");
  const result = message["result"];
  if (!isObject(result)) throw new FailedReply("the server answered with no result", "unknown");
  if (asksForInput(result)) throw new InputRequired();
  const isFailure = result["isError"] === true && (errors !== "completed" || isBeforeTool(reply, tool));
  if (isFailure) throw new ErrorResult(result);
  return result;
}

/** What a throw of `resultOfReply` is recorded as. */
export function classOfThrow(
  error: unknown,
  reply: ServerReply | undefined,
  tool: string,
  errors: ErrorResultMeaning,
): FailureClass | undefined {
  if (!(error instanceof ErrorResult)) return undefined;
  return errors === "completed" || (reply !== undefined && isBeforeTool(reply, tool)) ? "retryable" : errors;
}

/**
 * Whether an answer says that the tool was not entered: it is not known, or its arguments are not of its form. Servers say so
 * with an error of the protocol; those made with the TypeScript SDK also as the result of the tool, in fixed words. Only the
 * whole of them counts: a tool may begin a sentence of its own in the same way.
 */
export function isBeforeTool(reply: ServerReply, tool: string): boolean {
  if (reply.reply === "lost") return reply.failure.nothingBegun;
  const { message } = reply;
  const error = errorOf(message);
  if (error !== undefined) {
    const code = memberOf(error, "code");
    // What goes wrong inside of a server may go wrong inside of its tool, whatever it says.
    if (code === rpcCodes.internal) return false;
    if (!beforeToolCodes.has(code)) return /^unknown tool(?:: (.*))?$/i.exec(messageOf(error))?.[1] === tool;
    // The tool has run by the time its result is found to be wrong.
    return !/\boutput validation\b/i.test(messageOf(error));
  }
  const content = memberOf(message["result"], "content");
  if (memberOf(message["result"], "isError") !== true || !Array.isArray(content) || content.length !== 1) return false;
  const text = memberOf(content[0], "text");
  return typeof text === "string" && isBeforeToolText(text, tool);
}

/**
 * Errors of the protocol that come before the tool: the message cannot be read, is none, or does not fit its headers (-32020);
 * the client or its version cannot do what is needed (-32021, -32022); somebody has to open an address first (-32042).
 */
const beforeToolCodes: ReadonlySet<unknown> = new Set([
  rpcCodes.parseError,
  rpcCodes.invalidRequest,
  rpcCodes.methodNotFound,
  rpcCodes.invalidParams,
  -32020,
  -32021,
  -32022,
  -32042,
]);

function isBeforeToolText(text: string, tool: string): boolean {
  const prefix = `MCP error ${rpcCodes.invalidParams}: `;
  const said = text.startsWith(prefix) ? text.slice(prefix.length) : text;
  const whole = [`Tool ${tool} not found`, `Tool ${tool} disabled`, `Unknown tool: ${tool}`];
  // What is wrong with the arguments differs, but no tool says of its own arguments that they are those of the tool.
  return whole.includes(said) || said.startsWith(`Input validation error: Invalid arguments for tool ${tool}: `);
}

/** Whether a result is a task that was made for the call, whose own result comes later. */
export function isTaskResult(result: unknown): boolean {
  return isObject(memberOf(result, "task")) || memberOf(result, "resultType") === "task";
}

/** The error of an answer; undefined: it has none. Some servers write one of null beside each result. */
export function errorOf(message: JsonObject): unknown {
  return message["error"] ?? undefined;
}

function messageOf(error: unknown): string {
  const message = memberOf(error, "message");
  return typeof message === "string" && message !== "" ? message : "the server answered with an error";
}
