import { OnceKvError } from "../base/errors.js";
import { kindOf } from "../documents/value-kind.js";

/** A body of which so much was read as is kept. */
export interface Begun {
  /** The body; null when it is larger than what is kept. */
  readonly whole: Buffer | null;
  /** Whether it can be read only here. */
  readonly wasStream: boolean;
  /** All of it, what was read first. */
  all(): AsyncIterable<Uint8Array>;
  /** Reads no further. */
  discard(): void;
}

/**
 * Reads a body up to a bound.
 *
 * @param payload text, bytes, a stream of either kind, or nothing
 * @throws what the stream throws
 */
export async function beginBody(payload: unknown, bytesMax: number): Promise<Begun> {
  if (isIterable(payload)) return beginStream(payload, bytesMax);
  const body = bytesOf(payload);
  return {
    whole: body.byteLength > bytesMax ? null : body,
    wasStream: false,
    all: () => each([body]),
    discard: () => {},
  };
}

async function beginStream(stream: AsyncIterable<unknown>, bytesMax: number): Promise<Begun> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const rest = stream[Symbol.asyncIterator]();
  const discard = (): void => void Promise.resolve(rest.return?.()).catch(() => {});
  for (;;) {
    const next = await rest.next();
    if (next.done === true) return { whole: Buffer.concat(chunks), wasStream: true, all: () => each(chunks), discard };
    const chunk = bytesOf(next.value);
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return { whole: null, wasStream: true, all: () => chain(chunks, rest), discard };
  }
}

async function* each(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function* chain(chunks: Iterable<Uint8Array>, rest: AsyncIterator<unknown>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield bytesOf(next.value);
  } finally {
    await rest.return?.();
  }
}

function bytesOf(value: unknown): Buffer {
  if (value === undefined || value === null) return Buffer.alloc(0);
  if (typeof value === "string") return Buffer.from(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw new OnceKvError("internal", `a body must be text or bytes, not ${kindOf(value)}`);
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
