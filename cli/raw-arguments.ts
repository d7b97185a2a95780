import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";

/** What Node puts in the place of bytes that are not UTF-8. */
const replacement = "\ufffd";

/**
 * The place, from 1, of an argument that is not as it was given: its bytes are not UTF-8, and what they were is gone. An
 * id or a value made of it would be another one. Undefined: there is none.
 *
 * @param readBytes all arguments as the system has them; undefined where it does not tell, and then such a character
 *   counts as a replaced one
 */
export function mangledArgument(
  args: readonly string[],
  readBytes: () => Uint8Array | undefined = bytesOfThisProcess,
): number | undefined {
  const place = args.findIndex((argument) => argument.includes(replacement));
  if (place === -1) return undefined;
  const bytes = readBytes();
  return bytes !== undefined && isUtf8(bytes) ? undefined : place + 1;
}

function bytesOfThisProcess(): Uint8Array | undefined {
  try {
    return readFileSync("/proc/self/cmdline");
  } catch {
    return undefined;
  }
}
