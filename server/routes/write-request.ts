import type { FastifyRequest } from "fastify";
import { InvalidRequestError } from "../../src/base/errors.js";
import type { Condition, WriteIdentity, WriteOptions } from "../../src/documents/contract.js";
import type { Access } from "../access/access.js";
import { callShape } from "../call-shape.js";
import { accessOf } from "../context.js";
import { idempotencyKey, writeIdFor } from "../idempotency-key.js";
import { writeCondition } from "../precondition-headers.js";
import type { DocumentPath } from "../schemas/requests.js";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A whole write: the document from the address, the members of the body, the condition and the write id of the headers.
 * It is the body itself, with the rest put in: the body was parsed for this request alone, and a copy of it is one of the
 * dearest steps of a request.
 *
 * @throws OnceKvError when the sender may not do it, or the parts contradict each other
 */
export function writeRequest<Body extends WriteOptions>(
  request: FastifyRequest,
  path: DocumentPath,
  body: Body,
): Body & DocumentPath & WriteIdentity {
  const access = accessOf(request);
  requireWriteByHand(access, path.shape);
  if (body.return !== undefined) access.requireRead(path.shape);
  const hadCondition = body.if_match !== undefined;
  const write: Body & Mutable<DocumentPath & WriteIdentity> & { if_match?: Condition } = Object.assign(body, {
    shape: path.shape,
    id: path.id,
  });
  const condition = writeCondition(request.headers);
  if (condition !== undefined) {
    if (hadCondition) {
      throw new InvalidRequestError("if_match", "cannot be combined with a condition in the headers");
    }
    write.if_match = condition;
  }
  const key = idempotencyKey(request.raw);
  if (key !== undefined) write.write_id = writeIdFor(key, access.tokenName);
  return write;
}

/**
 * Whether documents of a shape may be written as such. A record of a tool call can be made to say anything that way, an
 * approval among it, so that it needs what deciding needs.
 *
 * @throws OnceKvError `forbidden`
 */
export function requireWriteByHand(access: Access, shape: string): void {
  access.requireWrite(shape);
  if (shape === callShape) access.requireAdmin(callShape);
}
