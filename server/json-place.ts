import { isUtf8 } from "node:buffer";

/** The position in bytes of a position in a text. */
export function byteOffset(text: string, position: number): number {
  return Buffer.byteLength(text.slice(0, position), "utf8");
}

/** Where the first character begins that is not well-formed UTF-8, in bytes that hold one. */
export function brokenUtf8At(bytes: Buffer): number {
  let good = 0;
  // In ever smaller steps as near to it as they lead; each byte is looked at about twice.
  for (let step = 2 ** 30; step >= 4; step /= 2) {
    const end = startOfCharacter(bytes, good + step);
    if (end <= bytes.length && isUtf8(bytes.subarray(good, end))) good = end;
  }
  for (;;) {
    const length = lengthOfCharacter(bytes, good);
    if (length === 0) return good;
    good += length;
  }
}

/** The position itself, or where the character begins in which it lies. */
function startOfCharacter(bytes: Buffer, position: number): number {
  let start = position;
  while (position - start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}

/** Bytes of the character there; 0 when there is none. */
function lengthOfCharacter(bytes: Buffer, start: number): number {
  for (let length = 1; length <= 4 && start + length <= bytes.length; length++) {
    if (isUtf8(bytes.subarray(start, start + length))) return length;
  }
  return 0;
}
