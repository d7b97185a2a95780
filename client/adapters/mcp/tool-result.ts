import { isPlainObject } from "../../../src/documents/plain-object.js";
import type { ToolCallOutcome } from "../../../src/tool-calls/index.js";
import { replayNote } from "../../../src/tools/model-text.js";
import type { ToolRefusal } from "../../../src/tools/refusal.js";
import { resultMeta } from "./call-meta.js";

/*
 * The result of an MCP tool call, as the protocol has it, and what a guard adds to it: members of `_meta` for programs, and
 * one text in front of the content for the model, on a replay and where there is no result. A first call's result is
 * otherwise what the tool gave.
 */

/** What is looked at of a result; everything else is passed on as it is. */
export interface McpToolResult {
  readonly content?: readonly unknown[] | undefined;
  readonly isError?: boolean | undefined;
  readonly _meta?: { readonly [name: string]: unknown } | undefined;
}

/** The result for an outcome of a guarded call. */
export function resultOfOutcome(outcome: ToolCallOutcome<unknown>): McpToolResult {
  const { was_replay, original_called_at, key, result_omitted } = outcome;
  const result: McpToolResult = isPlainObject(outcome.result) ? outcome.result : {};
  const note = was_replay ? [textBlock(replayNote(original_called_at, result_omitted))] : [];
  return {
    ...result,
    // A client expects the list also where nothing is in it.
    content: [...note, ...contentOf(result)],
    _meta: {
      ...result._meta,
      [resultMeta.was_replay]: was_replay,
      [resultMeta.original_called_at]: original_called_at,
      [resultMeta.key]: key,
      ...(result_omitted === undefined ? {} : { [resultMeta.result_omitted]: result_omitted }),
    },
  };
}

/**
 * The result for a call that has none.
 *
 * @param answered what the tool itself has answered to this caller, when it is its failure that is told of
 */
export function resultOfRefusal(
  refusal: ToolRefusal,
  key: string | undefined,
  answered?: McpToolResult,
): McpToolResult {
  const { code, message, retry_after } = refusal;
  // A tool's own error that had no effect, or may be made again, speaks for itself: other arguments are no danger then.
  const saysEnough = answered !== undefined && code === "tool_call_failed";
  return {
    ...answered,
    content: [...(saysEnough ? [] : [textBlock(message)]), ...contentOf(answered)],
    isError: true,
    _meta: {
      ...answered?._meta,
      [resultMeta.code]: code,
      ...(key === undefined ? {} : { [resultMeta.key]: key }),
      ...(retry_after === undefined ? {} : { [resultMeta.retry_after]: retry_after }),
    },
  };
}

/** Whether a result only asks for more before the tool can go on: nothing was done yet, and the call is parked. */
export function asksForInput(result: unknown): boolean {
  return isPlainObject(result) && Reflect.get(result, "resultType") === "input_required";
}

/** The content of a result as a list; what a tool gave instead of one, which no client takes, becomes a text. */
export function contentOf(result: McpToolResult | undefined): readonly unknown[] {
  const content: unknown = result?.content;
  if (Array.isArray(content)) return content;
  if (content === undefined || content === null) return [];
  return [textBlock(typeof content === "string" ? content : JSON.stringify(content))];
}

/** A text for the model. */
export function textBlock(text: string): { readonly type: "text"; readonly text: string } {
  return { type: "text", text };
}
