import type { FastifyReply, FastifyRequest } from "fastify";
import type { Access } from "./access/access.js";
import { type NoteAnswer, noteGone } from "./answer-log.js";
import { loadOf, permitFor, type ServerContext } from "./context.js";
import type { LongRequest } from "./long-requests.js";

/**
 * Carries out what may wait for somebody else's call, for as long as its client is there and the server does not drain. A
 * server that drains answers `store_closed`: the request may be sent again, elsewhere or later.
 *
 * @param check throws unless the sender may do it; it is asked again whenever the tokens change
 * @returns undefined when the client has gone, and nobody is left to answer
 */
export function holdCallWait<T>(
  context: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
  check: (access: Access) => void,
  note: NoteAnswer,
  work: (wait: LongRequest) => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  return context.waits.hold(reply.raw, permitFor(context, request, check), loadOf(request), async (wait) => {
    try {
      return { value: await work(wait) };
    } catch (error) {
      if (wait.ended?.by !== "client") throw error;
      reply.hijack();
      noteGone(request, reply, note);
      return undefined;
    }
  });
}
