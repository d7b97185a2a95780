import { isPlainObject } from "../../../src/documents/plain-object.js";
import type { ToolCallOutcome } from "../../../src/tool-calls/index.js";
import { answerOf as answerOfAnyMake } from "../../../src/tools/envelope.js";
import { replayNote } from "../../../src/tools/model-text.js";

/*
 * The SDK shows a model texts, images and files that a tool returns as what they are, and everything else as JSON. In an
 * envelope a picture would be a long text, so these are left as they are, and a replay has its note as one more text.
 */

/** What a guarded tool answers for an outcome. */
export function answerOf(outcome: ToolCallOutcome<unknown>): unknown {
  const { result, was_replay, original_called_at, result_omitted } = outcome;
  const parts: readonly unknown[] = Array.isArray(result) ? result : [result];
  if (parts.length === 0 || !parts.every(isPart)) return answerOfAnyMake(outcome, true);
  if (!was_replay) return result;
  return [{ type: "text", text: replayNote(original_called_at, result_omitted) }, ...parts];
}

function isPart(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const { type, text } = value;
  return type === "image" || type === "file" || (type === "text" && typeof text === "string");
}
