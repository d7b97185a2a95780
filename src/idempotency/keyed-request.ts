import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import { readKeyHeader } from "./key-header.js";
import type { IdempotencySettings } from "./options.js";
import { refusalAnswer } from "./problem-answers.js";
import type { Answer } from "./stored-answer.js";

/** The body of a request, as it counts for the comparison. */
export interface BodyDigest {
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

/** A request that its key covers. */
export interface KeyedRequest {
  readonly key: string;
  /** undefined: there is one tenant only. */
  readonly caller: string | undefined;
  /**
   * What must be the same in every request with the key. Everything is compared as it was sent: a query in another order or
   * a body with other spaces is another request.
   */
  readonly payload: {
    readonly method: string;
    readonly path: string;
    /** null: there is no "?". */
    readonly query: string | null;
    readonly content_type: string | null;
    readonly body_bytes: number;
    readonly body_sha256: string;
  };
}

/** What is to be done with a request, by its method and its key alone. */
export type Admission =
  | { readonly kind: "pass" }
  | { readonly kind: "refuse"; readonly answer: Answer }
  | { readonly kind: "key"; readonly key: string };

/**
 * @param message Node's own request, which has the headers as they came
 * @throws what the settings' own function throws
 */
export function admitRequest<R>(settings: IdempotencySettings<R>, request: R, message: IncomingMessage): Admission {
  if (!settings.methods.has(message.method ?? "")) return { kind: "pass" };
  const rule = settings.ruleOf(request);
  if (rule === "ignored") return { kind: "pass" };
  try {
    const key = readKeyHeader(message.rawHeaders);
    if (key !== undefined) return { kind: "key", key };
  } catch (error) {
    if (error instanceof InvalidRequestError) return { kind: "refuse", answer: refusalAnswer(error) };
    throw error;
  }
  if (rule === "optional") return { kind: "pass" };
  const missing = new InvalidRequestError("Idempotency-Key", `is needed on a ${message.method} here`);
  return { kind: "refuse", answer: refusalAnswer(missing) };
}

/** Who sends the request, if its keys are scoped; or the refusal of one whom nobody knows. @throws what `callerOf` throws */
export async function identifyCaller<R>(
  settings: IdempotencySettings<R>,
  request: R,
): Promise<{ readonly caller: string | undefined } | { readonly answer: Answer }> {
  if (settings.callerOf === undefined) return { caller: undefined };
  const caller = await settings.callerOf(request);
  if (typeof caller === "string" && caller !== "") return { caller };
  return { answer: refusalAnswer(new OnceKvError("unauthorized", "an Idempotency-Key needs a caller who is known")) };
}

/** @param url as it was sent, with the query */
export function payloadOf(message: IncomingMessage, url: string, body: BodyDigest): KeyedRequest["payload"] {
  const mark = url.indexOf("?");
  return {
    method: message.method ?? "",
    path: mark === -1 ? url : url.slice(0, mark),
    query: mark === -1 ? null : url.slice(mark + 1),
    content_type: message.headers["content-type"] ?? null,
    body_bytes: body.bytes,
    body_sha256: body.sha256,
  };
}

/** Whether a body comes with the request, by what HTTP/1.1 says. */
export function announcesBody(message: IncomingMessage): boolean {
  const { "transfer-encoding": encoding, "content-length": length = "0" } = message.headers;
  return encoding !== undefined || Number(length) !== 0;
}

export function digestOf(body: Uint8Array): BodyDigest {
  return { bytes: body.byteLength, sha256: createHash("sha256").update(body).digest("hex") };
}
