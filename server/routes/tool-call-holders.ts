import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ErrorCode } from "../../src/base/errors.js";
import { checkWriteId } from "../../src/documents/names.js";
import { jsonType, sendText } from "../answer.js";
import { callShape } from "../call-shape.js";
import { accessOf, type ServerContext } from "../context.js";
import { writeBodyBytesMax } from "../limits.js";
import { refuseConditions } from "../precondition-headers.js";
import { noQuery } from "../schemas/requests.js";
import { type DescriptiveSchema, describeRoute } from "../schemas/route-schema.js";
import { callPath, completeBody, failedBody, heldBody, parkBody, releaseBody } from "../schemas/tool-call-requests.js";
import { inRequestWords } from "../tool-call-request.js";

/** What the holder of a claim says about it. Each may be repeated until it is answered: the claim id says that it is the same. */
export function toolCallHolderRoutes(plainApp: FastifyInstance, context: ServerContext): void {
  const app = plainApp.withTypeProvider<TypeBoxTypeProvider>();
  const { store, drain, served } = context;
  const { claims } = served;
  const common = {
    bodyLimit: writeBodyBytesMax(store.limits),
    schema: { params: callPath(store.limits), querystring: noQuery() },
  };

  for (const action of ["renew", "fired"] as const) {
    app.post(
      `/v1/tool-calls/:key/${action}`,
      { ...common, schema: { ...common.schema, body: heldBody, ...holdDescriptions[action] } },
      async (request, reply) => {
        requireWrite(request);
        checkWriteId(request.body.claim_id, "claim_id", store.limits);
        const { key } = request.params;
        const held = await inRequestWords(() => claims.hold(key, request.body.claim_id, action));
        sendText(drain, reply, 200, jsonType, JSON.stringify(held));
      },
    );
  }

  app.post(
    "/v1/tool-calls/:key/complete",
    { ...common, schema: { ...common.schema, body: completeBody, ...completeDescription } },
    async (request, reply) => {
      requireWrite(request);
      checkWriteId(request.body.claim_id, "claim_id", store.limits);
      const { claim_id, result } = request.body;
      const outcome = await inRequestWords(() => claims.complete(request.params.key, claim_id, result));
      sendText(drain, reply, 200, jsonType, JSON.stringify(outcome));
    },
  );

  for (const action of ["fail", "unknown"] as const) {
    app.post(
      `/v1/tool-calls/:key/${action}`,
      { ...common, schema: { ...common.schema, body: failedBody, ...endDescriptions[action] } },
      async (request, reply) => {
        requireWrite(request);
        checkWriteId(request.body.claim_id, "claim_id", store.limits);
        const { claim_id, error } = request.body;
        const ended = await inRequestWords(() => claims.end(request.params.key, claim_id, { action, error }));
        sendText(drain, reply, 200, jsonType, JSON.stringify(ended));
      },
    );
  }

  app.post(
    "/v1/tool-calls/:key/release",
    { ...common, schema: { ...common.schema, body: releaseBody, ...endDescriptions.release } },
    async (request, reply) => {
      requireWrite(request);
      checkWriteId(request.body.claim_id, "claim_id", store.limits);
      const { claim_id, error } = request.body;
      const ended = await inRequestWords(() => claims.end(request.params.key, claim_id, { action: "release", error }));
      sendText(drain, reply, 200, jsonType, JSON.stringify(ended));
    },
  );

  app.post(
    "/v1/tool-calls/:key/park",
    { ...common, schema: { ...common.schema, body: parkBody, ...endDescriptions.park } },
    async (request, reply) => {
      requireWrite(request);
      checkWriteId(request.body.claim_id, "claim_id", store.limits);
      const { claim_id, reason } = request.body;
      const ended = await inRequestWords(() => claims.end(request.params.key, claim_id, { action: "park", reason }));
      sendText(drain, reply, 200, jsonType, JSON.stringify(ended));
    },
  );
}

/**
 * Who may only write sees what it has written itself: of a record in its way it is told nothing. That it knows the claim id
 * proves nothing, since it may write one into any record.
 */
function requireWrite(request: FastifyRequest): void {
  accessOf(request).requireWrite(callShape);
  refuseConditions(request.headers);
}

const errors: readonly ErrorCode[] = [
  "claim_lost",
  "too_large",
  "unsupported_media_type",
  "record_malformed",
  "overloaded",
  "store_failed",
  "outcome_unknown",
];

function describeHold(operationId: string, summary: string, description: string): DescriptiveSchema {
  const answers = { 200: { description: "The claim holds.", schema: "HeldClaim" } };
  return describeRoute({ operationId, summary, description, tag: "tool calls", answers, errors });
}

function describeEnd(operationId: string, summary: string, description: string): DescriptiveSchema {
  const answers = { 200: { description: "The claim has ended.", schema: "EndedClaim" } };
  return describeRoute({ operationId, summary, description, tag: "tool calls", answers, errors });
}

const holdDescriptions = {
  renew: describeHold(
    "renewClaim",
    "Renew a claim",
    "Accepted after a lapse too, unless somebody has taken the call over.",
  ),
  fired: describeHold(
    "announceEffect",
    "Say that the effect comes next",
    "Begin it only when this is answered, and then within `valid_for` seconds of having sent this. For a call with `marks` " +
      "the moment is written down; for others the claim is renewed.",
  ),
} as const;

const completeDescription: DescriptiveSchema = describeRoute({
  operationId: "completeCall",
  summary: "Complete a call with its result",
  description:
    "Accepted after a lapse too, unless somebody has taken the call over. Repeated with another result it is `claim_lost`.",
  tag: "tool calls",
  answers: { 200: { description: "The stored outcome, with the result that was sent.", schema: "Outcome" } },
  errors,
});

const endDescriptions = {
  fail: describeEnd(
    "failCall",
    "Say that a call definitely failed, without effect",
    "Later claimants get the failure until `failed_ttl` is over.",
  ),
  unknown: describeEnd(
    "leaveCallInDoubt",
    "Say that a call may have had its effect",
    "What follows is the record's policy: under `refire` the next claimant may fire, else somebody must resolve it.",
  ),
  release: describeEnd(
    "releaseCall",
    "Give a claim back: certainly not done",
    "The next claimant may fire at once. The key stays bound to its arguments.",
  ),
  park: describeEnd(
    "parkCall",
    "Set a call aside before its effect, for an approval",
    "The next claim of the same call resumes it. Refused once `fired` was said.",
  ),
} as const;
