import type { ResultOmission, ToolCallOutcome } from "../tool-calls/index.js";
import { replayNote } from "./model-text.js";

/**
 * What a model sees of a call: the result, and whether it is of an earlier call. A model that is not told takes an old
 * result for a new one, or a missing effect for a failure, and tries again in other words.
 */
export interface ToolEnvelope<R> {
  readonly result: R;
  readonly was_replay: boolean;
  /** When the call that had the result was made: ISO 8601, UTC. */
  readonly original_called_at: string;
  /** The tool has run, but its result was not kept. */
  readonly result_omitted?: ResultOmission;
  /** Of a replay: what that means, in words for the model. */
  readonly note?: string;
}

/**
 * How a guarded tool answers: true, the default, with the envelope, the first call as well as every replay, so that both
 * have one form; false with the bare result, or in words that it was not kept; a function with whatever it makes of the outcome, for frameworks that have a
 * place of their own for such things.
 */
export type EnvelopeOption = boolean | ((outcome: ToolCallOutcome<unknown>) => unknown);

/** What a guarded tool answers for an outcome. */
export function answerOf(outcome: ToolCallOutcome<unknown>, option: EnvelopeOption): unknown {
  if (option === false) return bareOf(outcome);
  return option === true ? envelopeOf(outcome) : option(outcome);
}

/** A result that was not kept would look like a tool that gives none: the note stands in its place. */
function bareOf({ result, was_replay, original_called_at, result_omitted }: ToolCallOutcome<unknown>): unknown {
  return was_replay && result_omitted !== undefined ? replayNote(original_called_at, result_omitted) : result;
}

function envelopeOf(outcome: ToolCallOutcome<unknown>): ToolEnvelope<unknown> {
  const { result, was_replay, original_called_at, result_omitted } = outcome;
  return {
    result,
    was_replay,
    original_called_at,
    ...(result_omitted === undefined ? {} : { result_omitted }),
    ...(was_replay ? { note: replayNote(original_called_at, result_omitted) } : {}),
  };
}
