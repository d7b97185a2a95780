import type { IncomingMessage } from "node:http";
import { beginRequest } from "./begin-request.js";
import type { HeldRequest } from "./held-request.js";
import { type BodyDigest, identifyCaller, payloadOf } from "./keyed-request.js";
import type { IdempotencySettings } from "./options.js";
import type { Answer } from "./stored-answer.js";

/** A request that was admitted with its key, and what it is made of. */
export interface ReceivedRequest<R> {
  /** The framework's. */
  readonly request: R;
  readonly message: IncomingMessage;
  /** As it was sent, with the query. */
  readonly url: string;
  readonly key: string;
  readonly body: BodyDigest;
}

/**
 * What both receiving sides do with a request that has a key.
 *
 * @param enter lets the handler run
 * @returns the answer to give instead of the handler's; undefined when the handler was entered
 * @throws as `beginRequest`, and what `callerOf` throws
 */
export async function receiveRequest<R>(
  settings: IdempotencySettings<R>,
  received: ReceivedRequest<R>,
  enter: (held: HeldRequest) => void,
): Promise<Answer | undefined> {
  const { request, message, url, key, body } = received;
  const identified = await identifyCaller(settings, request);
  if ("answer" in identified) return identified.answer;
  return beginRequest(settings, { key, caller: identified.caller, payload: payloadOf(message, url, body) }, enter);
}
