import type { FastifyReply, FastifyRequest } from "fastify";
import { type NoteAnswer, noteGone } from "./answer-log.js";
import type { ServerContext } from "./context.js";
import type { LongRequest } from "./long-requests.js";

/**
 * Carries out what may wait for somebody else's call, for as long as its client is there and the server does not drain. A
 * server that drains answers `store_closed`: the request may be sent again, elsewhere or later.
 *
 * @returns undefined when the client has gone, and nobody is left to answer
 */
export function holdCallWait<T>(
  context: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
  note: NoteAnswer,
  work: (wait: LongRequest) => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  return context.waits.hold(reply.raw, async (wait) => {
    try {
      return { value: await work(wait) };
    } catch (error) {
      if (wait.endedBy !== "client") throw error;
      reply.hijack();
      noteGone(request, reply, note);
      return undefined;
    }
  });
}
