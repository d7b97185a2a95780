import type { StandardSchemaV1 } from "@standard-schema/spec";
import { InvalidRequestError } from "../base/errors.js";
import { memberPath } from "../documents/member-path.js";

/** Issues that a message tells: a model corrects a few at a time, and a list of a thousand helps nobody. */
const issuesMax = 10;

/** Whether a value is a schema by the Standard Schema specification, of whatever library. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  // Some libraries make schemas that are functions.
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard: unknown = Reflect.get(value, "~standard");
  return (
    typeof standard === "object" &&
    standard !== null &&
    "validate" in standard &&
    typeof standard.validate === "function"
  );
}

/**
 * Validates arguments.
 *
 * @returns the schema's output, and the output of a second validation where that takes no waiting: a schema that makes a
 * time or a random id of its own gives itself away by it
 * @throws InvalidRequestError with the path of the first issue, and all in its message
 */
export async function validate(
  schema: StandardSchemaV1,
  input: unknown,
): Promise<{ readonly output: unknown; readonly again: { readonly output: unknown } | undefined }> {
  const begun = begin(schema, input);
  const output = outputOf(begun instanceof Promise ? await settled(begun) : begun);
  if (begun instanceof Promise) return { output, again: undefined };
  const second = begin(schema, input);
  if (second instanceof Promise) {
    // It is not waited for, but must not become a rejection that nobody handles.
    second.catch(() => {});
    return { output, again: undefined };
  }
  return { output, again: { output: outputOf(second) } };
}

type Result = StandardSchemaV1.Result<unknown>;

function begin(schema: StandardSchemaV1, input: unknown): Result | Promise<Result> {
  try {
    return schema["~standard"].validate(input);
  } catch (error) {
    throw notValidated(error);
  }
}

async function settled(result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    throw notValidated(error);
  }
}

function notValidated(cause: unknown): InvalidRequestError {
  return new InvalidRequestError("args", "could not be validated: the schema threw", { cause });
}

function outputOf(result: Result): unknown {
  if (result.issues === undefined) return result.value;
  const [first, ...others] = result.issues.slice(0, issuesMax);
  const more = result.issues.length - issuesMax;
  const problem = [
    first?.message ?? "is not valid",
    ...others.map((issue) => `${pathOf(issue)}: ${issue.message}`),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join("; ");
  throw new InvalidRequestError(first === undefined ? "args" : pathOf(first), problem);
}

function pathOf({ path = [] }: StandardSchemaV1.Issue): string {
  let spelled = "args";
  for (const segment of path) {
    const key = typeof segment === "object" ? segment.key : segment;
    spelled = memberPath(spelled, typeof key === "symbol" ? String(key) : key);
  }
  return spelled;
}
