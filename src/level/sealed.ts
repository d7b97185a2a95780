import { crc32 } from "node:zlib";
import { OnceKvError } from "../base/errors.js";

/**
 * Every stored value begins with a CRC-32 over its key and the rest of the value. classic-level does not verify
 * LevelDB's own block checksums, so without it a flipped bit in a table file comes back as a wrong value; and a value
 * under a wrong key is found too.
 */
export const sealBytes = 4;

/** Fills in the checksum of a value whose first `sealBytes` bytes were left free. */
export function seal(key: Buffer, value: Buffer): Buffer {
  value.writeUInt32BE(checksum(key, value), 0);
  return value;
}

/** Whether a stored value is the one that was sealed under this key. */
export function isIntact(key: Buffer, value: Buffer): boolean {
  return value.length >= sealBytes && value.readUInt32BE(0) === checksum(key, value);
}

/** Throws `store_damaged` unless the value is intact; `what` names it for the message. */
export function checkSeal(key: Buffer, value: Buffer, what: () => string): void {
  if (!isIntact(key, value)) throw damaged(`${what()} does not match its checksum`);
}

/** The error for stored data that is not what was written. */
export function damaged(problem: string, cause?: unknown): OnceKvError {
  return new OnceKvError(
    "store_damaged",
    `${problem}. Run \`oncekv verify\` on the folder to see the extent, and \`oncekv repair\` to salvage it`,
    cause === undefined ? {} : { cause },
  );
}

function checksum(key: Buffer, value: Buffer): number {
  return crc32(value.subarray(sealBytes), crc32(key));
}
