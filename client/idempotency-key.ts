import { createHash } from "node:crypto";

/** Visible ASCII without the characters that mean something in a quoted string. */
const plain = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/**
 * A write id as the header `Idempotency-Key` can carry it. A store takes any well-formed text as a write id, a header does
 * not; such ids are sent as their digest, which is as good a name.
 */
export function idempotencyKey(writeId: string): string {
  return plain.test(writeId) ? writeId : `sha256-${createHash("sha256").update(writeId).digest("hex")}`;
}
