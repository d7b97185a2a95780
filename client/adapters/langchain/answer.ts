import type { Fields } from "../../../src/documents/contract.js";
import { jsonEqual } from "../../../src/documents/json-equal.js";
import type { ToolCallOutcome } from "../../../src/tool-calls/index.js";
import { answerOf, type EnvelopeOption } from "../../../src/tools/envelope.js";
import { replayNote } from "../../../src/tools/model-text.js";
import type { ToolRefusal } from "../../../src/tools/refusal.js";
import { type CommandClass, isCommand, RevivedParentCommand, revivedCommand } from "./command.js";
import { type KeptResult, readKept } from "./kept-result.js";

/*
 * What a guarded tool gives to the framework, which makes the message for the model of it. The message is of this emission
 * and never the one of an earlier call, whose tool call id would leave this emission without an answer.
 */

/** What a call came to, for the framework. */
export interface Answer {
  /** What the tool returns. */
  readonly output: unknown;
  /** Members of the message that the framework makes of it. */
  readonly dress?: { readonly [name: string]: unknown };
}

/** What a tool threw to move the graph above its own, and cannot be kept. */
export class ThrownCommand {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** What the tool came to in this very call. */
export interface Live {
  /** What it returned; a `ThrownCommand` for what it threw. */
  readonly result: unknown;
  readonly kept: unknown;
}

/** How answers are made. */
export interface AnswerForm {
  readonly envelope: EnvelopeOption;
  readonly inPairs: boolean;
  readonly toolCallId: string | undefined;
  readonly commandClass: CommandClass | undefined;
}

/**
 * The answer for an outcome.
 *
 * @param live undefined when the tool was not entered by this caller
 * @throws what the tool threw to move the graph, on a replay too
 */
export function answerOfOutcome(outcome: ToolCallOutcome<unknown>, live: Live | undefined, form: AnswerForm): Answer {
  const { result, was_replay } = outcome;
  // What no record can keep is the first caller's alone.
  if (result instanceof ThrownCommand) throw result.error;
  if (isCommand(result)) return { output: result };
  const kept = readKept(result);
  // What is kept may have been redacted: then it is what the first caller gets, too.
  const own = live !== undefined && !was_replay && sameJson(live.kept, result) ? live.result : undefined;
  if (kept.form === "command") {
    return own === undefined ? replayedCommand(kept, outcome, form) : thrownOrOutput(own);
  }
  const [content, artifact] = kept.form === "value" ? [kept.value, undefined] : [kept.content, kept.artifact];
  const shown = contentOf({ ...outcome, result: content }, form.envelope);
  if (form.inPairs) {
    return { output: [shown, artifact ?? (Array.isArray(own) ? own[1] : undefined)] };
  }
  if (kept.form === "value") return { output: shown };
  const others = kept.form === "message" ? kept.others : {};
  return { output: shown, dress: { ...others, ...(artifact === undefined ? {} : { artifact }) } };
}

/** The answer for a call that was not made or has failed: its words, and for programs the whole as the artifact. */
export function answerOfRefusal(refusal: ToolRefusal, { inPairs }: AnswerForm): Answer {
  const { message } = refusal;
  const dress = { status: "error", artifact: refusal };
  return { output: inPairs ? [message, refusal] : message, dress };
}

/** What the framework takes for the content of a message. */
function contentOf(outcome: ToolCallOutcome<unknown>, envelope: EnvelopeOption): unknown {
  const { result } = outcome;
  if (envelope === true && isBlocks(result)) {
    // Pictures stay pictures: the envelope stands in front of them.
    const { result: _, ...facts } = Object(answerOf(outcome, true));
    return [{ type: "text", text: JSON.stringify(facts) }, ...result];
  }
  return answerOf(outcome, envelope);
}

function isBlocks(content: unknown): content is readonly unknown[] {
  const isBlock = (each: unknown): boolean => typeof each === "object" && each !== null && "type" in each;
  return Array.isArray(content) && content.length > 0 && content.every(isBlock);
}

function replayedCommand(
  kept: Extract<KeptResult, { form: "command" }>,
  { was_replay, original_called_at }: ToolCallOutcome<unknown>,
  { envelope, toolCallId, commandClass }: AnswerForm,
): Answer {
  const note = was_replay && envelope === true ? replayNote(original_called_at, undefined) : undefined;
  const command = revivedCommand(kept.command, commandClass, (message) => {
    if (message["tool_call_id"] !== kept.answers || toolCallId === undefined) return message;
    return answering(message, toolCallId, note);
  });
  if (kept.thrown) throw new RevivedParentCommand(command);
  return { output: command };
}

/** A message for this emission. With the id of the earlier one it would take that one's place in the state. */
function answering({ id: _, content, ...others }: Fields, toolCallId: string, note: string | undefined): Fields {
  const text = note === undefined ? [] : [{ type: "text", text: note }];
  const noted = Array.isArray(content) ? [...text, ...content] : note === undefined ? content : `${note}\n${content}`;
  return { ...others, tool_call_id: toolCallId, ...(noted === undefined ? {} : { content: noted }) };
}

function thrownOrOutput(result: unknown): Answer {
  if (result instanceof ThrownCommand) throw result.error;
  return { output: result };
}

function sameJson(a: unknown, b: unknown): boolean {
  return jsonEqual(a as Fields, b as Fields);
}
