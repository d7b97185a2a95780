import { OutcomeUnknownError } from "../src/base/errors.js";

/**
 * A write was sent, perhaps several times, and no answer came that says what became of it. The same write with the same
 * `write_id` finds out, for some minutes: it gives the first answer if it was applied, and applies it if it was not.
 */
export class LostAnswerError extends OutcomeUnknownError {
  readonly write_id: string;

  constructor(writeId: string, host: string, problem: string, cause: unknown) {
    super(
      `whether the write was applied is not known: ${host} ${problem}; ` +
        `to find out, repeat it with write_id ${JSON.stringify(writeId)}`,
      { cause },
    );
    this.write_id = writeId;
  }
}
