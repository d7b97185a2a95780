import { TooLargeError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import type { JsonValue } from "../documents/contract.js";
import { checkFields } from "../documents/json-value.js";

/** Bytes of JSON text that a reason for parking may take: whoever decides also needs the arguments, in the same document. */
const reasonBytesMax = 16_384;

/** The reason as it will be stored; null for none. @throws InvalidRequestError, TooLargeError */
export function checkReason(reason: unknown, limits: Limits): JsonValue {
  const { reason: stored = null } = checkFields({ reason }, "", limits);
  const bytes = Buffer.byteLength(JSON.stringify(stored), "utf8");
  if (bytes <= reasonBytesMax) return stored;
  throw new TooLargeError("reason", `takes ${bytes} bytes of JSON; the limit is ${reasonBytesMax}`);
}
