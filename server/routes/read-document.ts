import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { OnceKvError } from "../../src/base/errors.js";
import type { Document, WaitOptions } from "../../src/documents/contract.js";
import { sendNotModified, sendRead } from "../answer.js";
import { noteAs, noteGone } from "../answer-log.js";
import { accessOf, loadOf, permitFor, type ServerContext } from "../context.js";
import { entityTag, knownRevision } from "../precondition-headers.js";
import { preferredWait } from "../prefer-header.js";
import { tagHeader, waitHeader } from "../schemas/answers.js";
import { type DocumentPath, documentPath, noQuery } from "../schemas/requests.js";
import { describeRoute } from "../schemas/route-schema.js";
import { checkWait } from "../tool-call-request.js";
import { documentRoute } from "./documents.js";

/** Reading one document, at once or when it changes. */
export function readDocumentRoute(plainApp: FastifyInstance, context: ServerContext): void {
  const app = plainApp.withTypeProvider<TypeBoxTypeProvider>();
  const { store } = context;
  const noteWait = context.answerLog.route("GET", "/v1/documents/{shape}/{id} (wait)");

  app.get(
    documentRoute,
    {
      exposeHeadRoute: true,
      schema: { params: documentPath(store.limits), querystring: noQuery(), ...description() },
    },
    async (request, reply) => {
      const { shape, id } = request.params;
      accessOf(request).requireRead(shape);
      const known = knownRevision(request.headers);
      const seconds = preferredWait(request.headers["prefer"]);
      if (seconds === undefined) {
        sendDocument(reply, request.params, known, await store.getDocument(shape, id));
        return;
      }
      checkWait(seconds, "Prefer", store.limits);
      noteAs(request, noteWait);
      reply.header("preference-applied", "wait");
      const after = known === undefined ? {} : { after: known };
      await answerChange(request, reply, request.params, { ...after, timeout: seconds });
    },
  );

  function sendDocument(
    reply: FastifyReply,
    path: DocumentPath,
    known: number | undefined,
    document: Document | undefined,
  ): void {
    if (known !== undefined && known === (document?.revision ?? 0)) {
      sendNotModified(context.drain, reply, known);
      return;
    }
    if (document === undefined) throw notFound(path);
    reply.header("etag", entityTag(document.revision));
    sendRead(context.drain, reply, JSON.stringify(document));
  }

  /** Answers at the next change; when the time is over or the server drains, with the news that there was none. */
  function answerChange(
    request: FastifyRequest,
    reply: FastifyReply,
    path: DocumentPath,
    options: WaitOptions,
  ): Promise<void> {
    const permit = permitFor(context, request, (access) => access.requireRead(path.shape));
    return context.waits.hold(reply.raw, permit, loadOf(request), async (wait) => {
      try {
        const { changed, document } = await store.waitFor(path.shape, path.id, { ...options, signal: wait.signal });
        if (changed) sendDocument(reply, path, undefined, document ?? undefined);
        else sendNotModified(context.drain, reply, document?.revision ?? 0);
      } catch (error) {
        switch (wait.ended?.by) {
          case "server":
            sendNotModified(context.drain, reply, options.after);
            return;
          case "client":
            reply.hijack();
            noteGone(request, reply, noteWait);
            return;
          default:
            throw error;
        }
      }
    });
  }
}

function notFound({ shape, id }: DocumentPath): OnceKvError {
  return new OnceKvError("not_found", `there is no document ${JSON.stringify(id)} of the shape ${shape}`);
}

function description() {
  return describeRoute({
    operationId: "getDocument",
    summary: "Read a document, or wait for its next change",
    description:
      'With `If-None-Match: "<revision>"` the answer is 304 while the document still has that revision; `"0"` stands for ' +
      "an absent document. With `Prefer: wait=<seconds>` the answer comes at the next change, 304 when there was none.",
    tag: "documents",
    headers: {
      "If-None-Match": Type.Optional(Type.String({ description: 'The revision known, as `"7"`.' })),
      Prefer: Type.Optional(Type.String({ description: "`wait=<seconds>`, 0 to 300, fractions allowed." })),
    },
    answers: {
      200: { description: "The document.", schema: "Document", headers: { ...tagHeader, ...waitHeader } },
      304: { description: "It is still as the reader knows it.", headers: { ...tagHeader, ...waitHeader } },
    },
    errors: ["not_found", "overloaded"],
  });
}
