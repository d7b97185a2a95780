import { OnceKvError } from "../src/base/errors.js";

/** What the process tells the shell. `oncekv --help` lists them; scripts rely on them. */
export const exitCodes: {
  readonly done: 0;
  /** It could not be done now: folder locked or damaged, server out of reach, not allowed, problems found by `verify`. */
  readonly failed: 1;
  /** It cannot be done as it was asked for: usage, a value that is refused, a size over a limit. */
  readonly invalid: 2;
  readonly notFound: 3;
  /** A condition (`--if-...`) did not hold; nothing was written. */
  readonly conditionFailed: 4;
  /** A write was sent and it is not known what became of it. */
  readonly outcomeUnknown: 5;
} = Object.freeze({ done: 0, failed: 1, invalid: 2, notFound: 3, conditionFailed: 4, outcomeUnknown: 5 });

/** The exit code for what a command threw. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof OnceKvError)) return exitCodes.failed;
  switch (error.code) {
    case "not_found":
      return exitCodes.notFound;
    case "precondition_failed":
      return exitCodes.conditionFailed;
    case "outcome_unknown":
      return exitCodes.outcomeUnknown;
    case "invalid_request":
    case "revision_unknown":
    case "too_large":
    case "write_id_conflict":
      return exitCodes.invalid;
    default:
      return exitCodes.failed;
  }
}
