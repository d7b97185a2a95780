import { defaultLimits } from "../../../src/base/limits.js";
import type { Fields, JsonValue } from "../../../src/documents/contract.js";
import { checkJson } from "../../../src/documents/json-value.js";
import { isPlainObject } from "../../../src/documents/plain-object.js";
import { type CommandClass, isCommand, type KeptCommand, keptCommand } from "./command.js";
import { memberOf } from "./runtime.js";
import type { Passed } from "./task.js";

/*
 * What a record keeps of a tool's result, so that a replay hands the framework a thing of the same kind. Most results are JSON
 * and are kept as they are. A message, a pair of content and artifact, and a Command are kept as their parts under a mark,
 * which only this code sets: a result that happens to have the mark is put under one itself.
 */

/** The member that marks what is not kept as it is. */
const mark = "oncekv_form";

/** A result, as it is kept, read again. */
export type KeptResult =
  | { readonly form: "value"; readonly value: unknown }
  | { readonly form: "content_and_artifact"; readonly content: unknown; readonly artifact: unknown }
  | { readonly form: "message"; readonly content: unknown; readonly artifact: unknown; readonly others: Fields }
  | { readonly form: "command"; readonly command: KeptCommand; readonly answers: unknown; readonly thrown: boolean };

/** What is said of a message besides its content. Its own ids are another emission's, and are not kept. */
const messageMembers = ["status", "additional_kwargs", "response_metadata", "metadata"] as const;

/** How a tool gives its results. */
export interface ResultForm {
  /** Whether it returns pairs. */
  readonly inPairs: boolean;
  /** Whether a model called, who reads nothing but the JSON of a result. */
  readonly toolCallId: string | undefined;
  readonly commandClass: CommandClass | undefined;
}

/** Whether a tool returned a message, as the framework itself tells. */
function isToolMessage(value: unknown): value is object {
  return memberOf(value, "lc_direct_tool_output") === true && memberOf(value, "type") === "tool";
}

/**
 * What is kept of a result.
 *
 * @throws NotKeepable for a Command that could not be made again
 */
export function keptOf(result: unknown, form: ResultForm): unknown {
  if (isCommand(result)) return keptOfCommand(result, form, false);
  const { inPairs, toolCallId } = form;
  if (isToolMessage(result)) {
    const others = messageMembers.map((name) => [name, memberOf(result, name)] as const);
    return {
      [mark]: "message",
      content: memberOf(result, "content"),
      ...keptArtifact(memberOf(result, "artifact")),
      others: Object.fromEntries(others.filter(([, value]) => isJson(value))),
    };
  }
  if (inPairs && Array.isArray(result) && result.length === 2) {
    const [content, artifact]: readonly unknown[] = result;
    return { [mark]: "content_and_artifact", content: readable(content, toolCallId), ...keptArtifact(artifact) };
  }
  const value = readable(result, toolCallId);
  return isPlainObject(value) && Object.hasOwn(value, mark) ? { [mark]: "value", value } : value;
}

/** The same for a Command that was thrown to the graph above. @throws NotKeepable */
export function keptOfCommand(command: object, { toolCallId, commandClass }: ResultForm, thrown: boolean): Fields {
  return {
    [mark]: "command",
    command: { ...keptCommand(command, commandClass !== undefined) },
    ...(toolCallId === undefined ? {} : { answers: toolCallId }),
    thrown,
  };
}

/** The same with how far the call took its task. */
export function withPassed(kept: unknown, passed: Passed | undefined): unknown {
  if (passed === undefined) return kept;
  const isMarked = isPlainObject(kept) && Object.hasOwn(kept, mark);
  return isMarked ? { ...kept, passed } : { [mark]: "value", value: kept, passed };
}

/** How far the call took its task; undefined: nowhere, or the record does not say. */
export function passedOf(kept: unknown): unknown {
  return isPlainObject(kept) && Object.hasOwn(kept, mark) ? memberOf(kept, "passed") : undefined;
}

/** Reads what a record keeps. What is not marked is a result as it is, that of a person who resolved the call too. */
export function readKept(kept: unknown): KeptResult {
  const form = isPlainObject(kept) ? memberOf(kept, mark) : undefined;
  const { content, artifact, value } = Object(kept);
  switch (form) {
    case "value":
      return { form, value };
    case "content_and_artifact":
      return { form, content, artifact };
    case "message":
      return { form, content, artifact, others: fieldsOf(memberOf(kept, "others")) };
    case "command": {
      const { goto = [], ...command } = fieldsOf(memberOf(kept, "command"));
      const thrown = memberOf(kept, "thrown") === true;
      return { form, command: { ...command, goto }, answers: memberOf(kept, "answers"), thrown };
    }
    default:
      return { form: "value", value: kept };
  }
}

/** An artifact is for programs: one that is not JSON is the first caller's alone. */
function keptArtifact(artifact: unknown): Fields {
  return isJson(artifact) ? { artifact } : {};
}

/** For a model a result is its JSON, whatever class it is of. */
function readable(value: unknown, toolCallId: string | undefined): unknown {
  if (toolCallId === undefined || value === undefined || isJson(value)) return value;
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? value : JSON.parse(text);
  } catch {
    return value;
  }
}

function isJson(value: unknown): value is JsonValue {
  if (value === undefined) return false;
  try {
    checkJson(value, "", defaultLimits);
    return true;
  } catch {
    return false;
  }
}

function fieldsOf(value: unknown): Fields {
  return isPlainObject(value) ? (value as Fields) : {};
}
