import { adviceByCode } from "../../../src/tools/model-text.js";

/** What the model is told in the place of "timed out": a refusal, in the form in which the SDK shows any other. */
export function stillRunning(): string {
  return JSON.stringify({ refused: true, code: "call_in_flight", message: adviceByCode.call_in_flight });
}
