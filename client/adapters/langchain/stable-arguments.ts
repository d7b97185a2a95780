import { InvalidRequestError } from "../../../src/base/errors.js";
import { canonicalJson } from "../../../src/documents/canonical-json.js";
import { readArguments } from "../../../src/tools/arguments.js";
import { isStandardSchema } from "../../../src/tools/schema.js";

/**
 * Refuses a call whose schema makes other arguments of the same input each time, such as a default that is a random id or the
 * time: no second emission would be recognised, and each would have its effect.
 *
 * @param given what the model wrote
 * @param parsed what the framework made of it
 * @throws InvalidRequestError
 */
export async function refuseUnstable(schema: unknown, given: unknown, parsed: unknown): Promise<void> {
  if (!isStandardSchema(schema)) return;
  const again = schema["~standard"].validate(given);
  if (again instanceof Promise) {
    // One that takes waiting is not asked twice; it must not become a rejection that nobody handles.
    again.catch(() => {});
    return;
  }
  if (again.issues !== undefined) return;
  if ((await identity(parsed)) === (await identity(again.value))) return;
  throw new InvalidRequestError(
    "args",
    "are made anew by the schema each time (a time, a random id): no retry would be recognised. Make such values in the tool",
  );
}

async function identity(value: unknown): Promise<string> {
  return canonicalJson((await readArguments(undefined, value)).identity, "args");
}
