import { errorTable } from "../../../src/base/errors.js";
import { isPlainObject } from "../../../src/documents/plain-object.js";
import type { ToolEnvelope, ToolRefusal } from "../../../src/tools/index.js";

/*
 * A tool with `toModelOutput` says what the model reads of its results, and knows nothing of envelopes. It is asked about the
 * bare result, and the note of a replay goes beside what it says. Outputs that were stored before the tool was guarded, in a
 * conversation that is kept, are bare results; they go to the tool as they are.
 */

/** What `toModelOutput` is asked about. */
export interface ModelOutputQuestion {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly output: unknown;
}

type ToModelOutput = (question: ModelOutputQuestion) => unknown;

/** What stands in the place of a tool's own `toModelOutput`. @param enveloped whether answers of the tool are envelopes */
export function guardedModelOutput(own: ToModelOutput, tool: object, enveloped: boolean): ToModelOutput {
  return async (question) => {
    const { output } = question;
    if (isRefusal(output)) return { type: "json", value: output };
    if (!(enveloped && isEnvelope(output))) return Reflect.apply(own, tool, [question]);
    const { note } = output;
    // What was not kept cannot be put into the tool's words.
    if (note !== undefined && output.result_omitted !== undefined) return { type: "text", value: note };
    const said: unknown = await Reflect.apply(own, tool, [{ ...question, output: output.result }]);
    return note === undefined ? said : withNote(said, note, output);
  };
}

/** What the tool says to the model, with a note beside it. Forms that are not known here are left as they are. */
function withNote(said: unknown, note: string, envelope: ToolEnvelope<unknown>): unknown {
  if (!isPlainObject(said)) return said;
  const { type, value } = said;
  switch (type) {
    case "text":
    case "error-text":
      return { ...said, value: `${note}\n\n${value}` };
    case "json":
    case "error-json":
      return { ...said, value: { ...envelope, result: value } };
    case "content":
      return Array.isArray(value) ? { ...said, value: [{ type: "text", text: note }, ...value] } : said;
    default:
      return said;
  }
}

const refusalMembers: ReadonlySet<string> = new Set(["refused", "code", "message", "retry_after"]);

/**
 * Also of one that was stored as JSON and read again, where no mark is left: so it has our codes, and no member but ours. A
 * tool's own result may be refused, too.
 */
export function isRefusal(output: unknown): output is ToolRefusal {
  if (!isPlainObject(output) || output["refused"] !== true) return false;
  const { code, message } = output;
  return (
    typeof code === "string" &&
    Object.hasOwn(errorTable, code) &&
    typeof message === "string" &&
    Object.keys(output).every((name) => refusalMembers.has(name))
  );
}

/** The same for an envelope. */
export function isEnvelope(output: unknown): output is ToolEnvelope<unknown> {
  return (
    isPlainObject(output) &&
    typeof output["was_replay"] === "boolean" &&
    typeof output["original_called_at"] === "string"
  );
}
