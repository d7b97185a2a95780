import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance } from "fastify";
import { InvalidRequestError } from "../../src/base/errors.js";
import type { DeleteOperation } from "../../src/documents/contract.js";
import { answerLater, sendWriteResult } from "../answer.js";
import type { ServerContext } from "../context.js";
import { writeBodyBytesMax } from "../limits.js";
import { entityTag } from "../precondition-headers.js";
import { replayHeader, tagHeader } from "../schemas/answers.js";
import {
  deleteBody,
  deleteQuery,
  documentPath,
  type InBody,
  noQuery,
  patchBody,
  putBody,
} from "../schemas/requests.js";
import { describeRoute, writeHeaders } from "../schemas/route-schema.js";
import { writeRequest } from "./write-request.js";

/** The address of one document. */
export const documentRoute = "/v1/documents/:shape/:id";

const writeErrors = [
  "precondition_failed",
  "too_large",
  "unsupported_media_type",
  "write_id_conflict",
  "overloaded",
  "store_failed",
  "outcome_unknown",
] as const;

/** The writes of single documents. */
export function writeRoutes(plainApp: FastifyInstance, context: ServerContext): void {
  const app = plainApp.withTypeProvider<TypeBoxTypeProvider>();
  const { store, drain } = context;
  const { limits } = store;
  const bodyLimit = writeBodyBytesMax(limits);
  const params = documentPath(limits);

  app.put(
    documentRoute,
    { bodyLimit, schema: { params, querystring: noQuery(), body: putBody(limits), ...putDescription() } },
    (request, reply) => {
      answerLater(reply, store.put(writeRequest(request, request.params, request.body)), (result) => {
        reply.header("etag", entityTag(result.revision));
        sendWriteResult(drain, reply, result.created ? 201 : 200, result);
      });
    },
  );

  app.patch(
    documentRoute,
    { bodyLimit, schema: { params, querystring: noQuery(), body: patchBody(limits), ...patchDescription() } },
    (request, reply) => {
      answerLater(reply, store.patch(writeRequest(request, request.params, request.body)), (result) => {
        reply.header("etag", entityTag(result.revision));
        sendWriteResult(drain, reply, 200, result);
      });
    },
  );

  app.delete(
    documentRoute,
    { bodyLimit, schema: { params, querystring: deleteQuery(), body: deleteBody(), ...deleteDescription() } },
    (request, reply) => {
      const body = withQuery(request.body ?? {}, request.query.return);
      answerLater(reply, store.delete(writeRequest(request, request.params, body)), (result) => {
        sendWriteResult(drain, reply, 200, result);
      });
    },
  );
}

function withQuery(body: InBody<DeleteOperation>, wanted: string | undefined): InBody<DeleteOperation> {
  if (wanted === undefined) return body;
  if (wanted !== "document") throw new InvalidRequestError("return", 'must be "document" when it is given');
  return { ...body, return: "document" };
}

function putDescription() {
  const headers = { ...tagHeader, ...replayHeader };
  return describeRoute({
    operationId: "putDocument",
    summary: "Replace a document, or create it",
    tag: "documents",
    headers: writeHeaders,
    answers: {
      200: { description: "It was replaced.", schema: "WriteResult", headers },
      201: { description: "It was created.", schema: "WriteResult", headers },
    },
    errors: writeErrors,
  });
}

function patchDescription() {
  return describeRoute({
    operationId: "patchDocument",
    summary: "Change a document by a merge patch, or renew its ttl",
    tag: "documents",
    headers: writeHeaders,
    answers: {
      200: { description: "It was changed.", schema: "WriteResult", headers: { ...tagHeader, ...replayHeader } },
    },
    errors: [...writeErrors, "not_found"],
  });
}

function deleteDescription() {
  return describeRoute({
    operationId: "deleteDocument",
    summary: "Remove a document",
    description: "Removing what is absent is not an error, unless a condition says otherwise.",
    tag: "documents",
    headers: writeHeaders,
    answers: { 200: { description: "It is gone.", schema: "WriteResult", headers: replayHeader } },
    errors: writeErrors,
  });
}
