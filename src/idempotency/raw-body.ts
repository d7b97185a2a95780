import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { pipeline, type Readable, Transform } from "node:stream";
import type { BodyDigest } from "./keyed-request.js";

/*
 * The bytes of a request's body are what is compared, not what a parser makes of them. Parsers keep no bytes, so that they
 * are met on their way to the parser.
 */

const keptBodies = new WeakMap<IncomingMessage, Uint8Array>();

/**
 * For the parsers of Express, which must come before the middleware: `express.json({ verify: keepRawBody })`. A body that
 * was compressed is compared as it was before.
 */
export function keepRawBody(request: IncomingMessage, _response: unknown, body: Uint8Array): void {
  keptBodies.set(request, body);
}

/** @returns undefined when no parser kept the body */
export function rawBodyOf(request: IncomingMessage): Uint8Array | undefined {
  return keptBodies.get(request);
}

/** A stream that passes a body on as it is and knows its digest when it has ended. */
export interface BodyTap {
  readonly stream: Readable;
  /** undefined as long as the body has not been read to its end. */
  digest(): BodyDigest | undefined;
}

export function tapBody(payload: Readable): BodyTap {
  const hash = createHash("sha256");
  let bytes = 0;
  let digest: BodyDigest | undefined;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      done(null, chunk);
    },
    flush(done) {
      digest = { bytes, sha256: hash.digest("hex") };
      done();
    },
  });
  // Fastify compares it with the announced length; a stream that decompresses knows it, and this one must not hide it.
  Object.defineProperty(stream, "receivedEncodedLength", { get: () => Reflect.get(payload, "receivedEncodedLength") });
  // What goes wrong reaches the parser through the stream.
  pipeline(payload, stream, () => {});
  return { stream, digest: () => digest };
}
