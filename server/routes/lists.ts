import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance } from "fastify";
import { accessOf, type ServerContext } from "../context.js";
import { keysBodyBytesMax } from "../limits.js";
import { sendPage } from "../page-answers.js";
import { refuseConditions } from "../precondition-headers.js";
import { getManyBody, listQuery, noQuery, shapePath } from "../schemas/requests.js";
import { describeRoute } from "../schemas/route-schema.js";

/** Reading many documents: a page of a shape, or those that are named. */
export function listRoutes(plainApp: FastifyInstance, context: ServerContext): void {
  const app = plainApp.withTypeProvider<TypeBoxTypeProvider>();
  const { store } = context;
  const { limits } = store;

  app.get(
    "/v1/documents/:shape",
    { schema: { params: shapePath(), querystring: listQuery(limits), ...listDescription() } },
    async (request, reply) => {
      const { shape } = request.params;
      accessOf(request).requireRead(shape);
      refuseConditions(request.headers);
      await sendPage(context, reply, () => store.list(shape, request.query));
    },
  );

  app.post(
    "/v1/get-many",
    {
      bodyLimit: keysBodyBytesMax(limits),
      schema: { querystring: noQuery(), body: getManyBody(limits), ...getManyDescription() },
    },
    async (request, reply) => {
      const { keys } = request.body;
      const access = accessOf(request);
      for (const key of keys) access.requireRead(key.shape);
      refuseConditions(request.headers);
      await sendPage(context, reply, async () => {
        const found = await store.getMany(keys);
        return { documents: found.map((document) => document ?? null) };
      });
    },
  );
}

function listDescription() {
  return describeRoute({
    operationId: "listDocuments",
    summary: "Read a page of a shape's documents",
    description: "In the order of their ids' UTF-8 bytes, from one snapshot. Only `next: null` ends the list.",
    tag: "documents",
    answers: { 200: { description: "The page.", schema: "ListPage" } },
    errors: ["overloaded"],
  });
}

function getManyDescription() {
  return describeRoute({
    operationId: "getMany",
    summary: "Read several documents in one snapshot",
    tag: "documents",
    answers: { 200: { description: "The documents, in the order of the keys.", schema: "ManyDocuments" } },
    errors: ["too_large", "unsupported_media_type", "overloaded"],
  });
}
