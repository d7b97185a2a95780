import type { FastifyReply } from "fastify";
import { OnceKvError } from "../src/base/errors.js";
import { sendRead } from "./answer.js";
import { loadOf, type ServerContext } from "./context.js";

/**
 * Reads and sends what may be large. How large it becomes is not known before, so that few are in the making at the same
 * time, and none is begun while there is no room for a large one.
 *
 * @throws OnceKvError `overloaded`
 */
export function sendPage(context: ServerContext, reply: FastifyReply, read: () => Promise<object>): Promise<void> {
  const { drain, pages, store } = context;
  return pages.take(async () => {
    if (reply.raw.destroyed) throw new OnceKvError("unavailable", "the client has gone");
    loadOf(reply.request)?.checkAnswer(store.limits.listBytesMax);
    sendRead(drain, reply, JSON.stringify(await read()));
  });
}
