import { isPlainObject } from "../../../src/documents/plain-object.js";
import { refuseUnstable } from "../../../src/tools/arguments.js";
import type { ToolCallDetailsLike } from "./tool-types.js";

/*
 * The SDK parses the arguments before it executes, and gives what the model wrote beside them. A schema whose default is the
 * time or a random id would make another call of every retry, so it is asked again about that.
 */

/**
 * @param parameters a schema of Zod; any other makes nothing anew
 * @param now the wall clock, milliseconds since 1970
 * @throws InvalidRequestError
 */
export async function refuseUnstableInput(
  parameters: unknown,
  details: ToolCallDetailsLike | undefined,
  now: number,
): Promise<void> {
  const written = parsed(details?.toolCall?.arguments);
  if (written === undefined) return;
  await refuseUnstable(parameters, written, now);
  // In strict mode a model writes null for what it leaves out, and the SDK takes that away before it validates.
  await refuseUnstable(parameters, withoutNulls(written), now);
}

function parsed(text: unknown): unknown {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isPlainObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}
