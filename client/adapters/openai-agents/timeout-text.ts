import { notWaitedFor } from "../../../src/tools/model-text.js";

/**
 * What the model is told in the place of "timed out": a refusal, in the form in which the SDK shows any other. The tool may
 * run on, or have thrown when its signal aborted; the record knows.
 */
export function timedOut(): string {
  return JSON.stringify({ refused: true, code: "outcome_unknown", message: notWaitedFor });
}
