import { InvalidRequestError } from "../base/errors.js";

/** A request that can be sent any number of times and is the same each time. */
export interface RepeatableRequest {
  readonly input: string | URL | Request;
  readonly init: RequestInit;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Puts the key on a request and makes its body one that can be sent again. A form gets its boundary here and not with each
 * sending, since other bytes under the same key are another request.
 *
 * @throws InvalidRequestError for a body that is a stream, and for an `Idempotency-Key` that differs
 */
export async function repeatableRequest(
  input: string | URL | Request,
  init: RequestInit,
  key: string,
): Promise<RepeatableRequest> {
  const given = isRequest(input) ? input : undefined;
  // The body of a Request is a stream, whatever it was made of.
  if (given?.body && (init.body === undefined || init.body === null)) {
    throw new InvalidRequestError("input", "has a body that can be sent only once; give the body in init");
  }
  const headers = new Headers(init.headers ?? given?.headers);
  const own = headers.get("idempotency-key");
  if (own !== null && own !== key) {
    throw new InvalidRequestError("init.headers", "has an Idempotency-Key that is not the call's");
  }
  headers.set("Idempotency-Key", key);
  const { body, signal, ...rest } = init;
  const bytes = body === undefined || body === null ? undefined : await bytesOf(body, headers);
  // What fetch would refuse is refused now, and not taken for a fault of the network.
  new Request(input, {
    ...rest,
    headers,
    ...(bytes === undefined ? {} : { body: bytes }),
  });
  return {
    input,
    init: { ...rest, headers, ...(bytes === undefined ? {} : { body: bytes }) },
    signal: signal ?? given?.signal,
  };
}

async function bytesOf(body: NonNullable<RequestInit["body"]>, headers: Headers): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof body === "object" && (Symbol.asyncIterator in body || "getReader" in body || "pipe" in body)) {
    throw new InvalidRequestError("init.body", "must not be a stream: it can be sent only once");
  }
  const whole = new Response(body);
  const type = whole.headers.get("content-type");
  if (type !== null && !headers.has("content-type")) headers.set("Content-Type", type);
  return new Uint8Array(await whole.arrayBuffer());
}

function isRequest(input: string | URL | Request): input is Request {
  return typeof input === "object" && !(input instanceof URL);
}
