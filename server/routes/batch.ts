import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import type { BatchOperation } from "../../src/documents/contract.js";
import type { Access } from "../access/access.js";
import { answerLater, sendBatchResult } from "../answer.js";
import { accessOf, type ServerContext } from "../context.js";
import { idempotencyKey, writeIdFor } from "../idempotency-key.js";
import { batchBodyBytesMax } from "../limits.js";
import { refuseConditions } from "../precondition-headers.js";
import { replayHeader } from "../schemas/answers.js";
import { batchBody, noQuery } from "../schemas/requests.js";
import { describeRoute } from "../schemas/route-schema.js";
import { requireWriteByHand } from "./write-request.js";

/** Several writes in one commit. */
export function batchRoute(plainApp: FastifyInstance, context: ServerContext): void {
  const app = plainApp.withTypeProvider<TypeBoxTypeProvider>();
  const { store } = context;

  app.post(
    "/v1/batch",
    {
      bodyLimit: batchBodyBytesMax(store.limits),
      schema: { querystring: noQuery(), body: batchBody(store.limits), ...description() },
    },
    (request, reply) => {
      const { operations } = request.body;
      const access = accessOf(request);
      for (const operation of operations) requireAccess(access, operation);
      refuseConditions(request.headers);
      const key = idempotencyKey(request.raw);
      const identity = key === undefined ? {} : { write_id: writeIdFor(key, access.tokenName) };
      answerLater(reply, store.batch(operations, identity), (result) => sendBatchResult(context.drain, reply, result));
    },
  );
}

/** A check changes nothing but tells whether something is so. */
function requireAccess(access: Access, operation: BatchOperation): void {
  if (operation.op === "check") {
    access.requireRead(operation.shape);
    return;
  }
  requireWriteByHand(access, operation.shape);
  if (operation.return !== undefined) access.requireRead(operation.shape);
}

function description() {
  return describeRoute({
    operationId: "batch",
    summary: "Write several documents in one commit, or none",
    description:
      "Conditions are in the operations and see the state before the batch; conditional headers are refused.",
    tag: "documents",
    headers: {
      "Idempotency-Key": Type.Optional(
        Type.String({ maxLength: 255, description: "Makes repeating the request safe." }),
      ),
    },
    answers: { 200: { description: "All of it happened.", schema: "BatchResult", headers: replayHeader } },
    errors: [
      "not_found",
      "precondition_failed",
      "too_large",
      "unsupported_media_type",
      "write_id_conflict",
      "overloaded",
      "store_failed",
      "outcome_unknown",
    ],
  });
}
