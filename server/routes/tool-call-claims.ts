import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { InvalidRequestError } from "../../src/base/errors.js";
import { isWellFormed } from "../../src/documents/well-formed.js";
import type { RemoteClaimantName } from "../../src/tool-calls/remote-claims.js";
import type { Access } from "../access/access.js";
import { jsonType, sendRead, sendText } from "../answer.js";
import { callShape } from "../call-shape.js";
import { accessOf, type ServerContext } from "../context.js";
import { claimIdFor, idempotencyKey } from "../idempotency-key.js";
import { serverLimits, writeBodyBytesMax } from "../limits.js";
import { refuseConditions } from "../precondition-headers.js";
import { replayHeader } from "../schemas/answers.js";
import { noQuery } from "../schemas/requests.js";
import { describeRoute } from "../schemas/route-schema.js";
import { type ClaimBody, claimBody, prepareBody } from "../schemas/tool-call-requests.js";
import { callRequest, inRequestWords } from "../tool-call-request.js";
import { holdCallWait } from "../tool-call-waits.js";

const route = "/v1/tool-calls/claim";

/** The beginning of tool calls: claiming one, and writing one down before that. */
export function toolCallClaimRoutes(plainApp: FastifyInstance, context: ServerContext): void {
  const app = plainApp.withTypeProvider<TypeBoxTypeProvider>();
  const { store, drain, served } = context;
  const { limits } = store;
  const bodyLimit = writeBodyBytesMax(limits);
  const note = context.answerLog.route("POST", route);

  app.post(
    route,
    { bodyLimit, schema: { querystring: noQuery(), body: claimBody(limits), ...claimDescription() } },
    async (request, reply) => {
      const access = requireBoth(request);
      const claimant = claimantOf(request, request.body, access);
      const wanted = callRequest(request.body, limits);
      const claim = (signal: AbortSignal | undefined) =>
        inRequestWords(() => served.claims.claim({ ...wanted, signal }, claimant));
      const answer =
        wanted.waitTimeout === 0
          ? { value: await claim(undefined) }
          : await holdCallWait(context, request, reply, mayClaim, note, (wait) => claim(wait.signal));
      if (answer === undefined) return;
      const { value } = answer;
      if (value.claimed && value.recognised === true) reply.header("idempotent-replayed", "true");
      const text = JSON.stringify(value);
      // What somebody else has stored can be asked for again; a claim that was given out must be told.
      if (value.claimed) sendText(drain, reply, 200, jsonType, text);
      else sendRead(drain, reply, text);
    },
  );

  app.post(
    "/v1/tool-calls/prepare",
    { bodyLimit, schema: { querystring: noQuery(), body: prepareBody(limits), ...prepareDescription() } },
    async (request, reply) => {
      requireBoth(request);
      const key = await inRequestWords(() => served.calls.prepare(request.body));
      sendText(drain, reply, 200, jsonType, JSON.stringify({ key }));
    },
  );
}

/** Both answers tell what is stored, and both store something. */
function mayClaim(access: Access): void {
  access.requireWrite(callShape);
  access.requireRead(callShape);
}

function requireBoth(request: FastifyRequest): Access {
  const access = accessOf(request);
  mayClaim(access);
  refuseConditions(request.headers);
  return access;
}

/** @throws InvalidRequestError */
function claimantOf(request: FastifyRequest, body: ClaimBody, access: Access): RemoteClaimantName {
  const { owner: ownName, claim_id } = body;
  const owner = ownName ?? access.tokenName ?? "http";
  if (owner === "" || owner.length > serverLimits.ownerLengthMax || !isWellFormed(owner)) {
    throw new InvalidRequestError("owner", `must be 1 to ${serverLimits.ownerLengthMax} characters, well-formed`);
  }
  const key = idempotencyKey(request.raw);
  // A claim id says the same as the header, and travels in the body where no library puts one of its own.
  if (claim_id !== undefined) return { owner, claimId: claim_id };
  if (key === undefined) return { owner, claimId: undefined };
  // Workers who take the key of their call for the header would share the default, and so the claim.
  if (ownName === undefined) {
    throw new InvalidRequestError("owner", "is needed with the header Idempotency-Key: it says whose claim that is");
  }
  return { owner, claimId: claimIdFor(key, access.tokenName, owner) };
}

function claimDescription() {
  return describeRoute({
    operationId: "claimCall",
    summary: "Claim a tool call, or get what it came to",
    description:
      "With `claimed: true` the call is the claimant's to carry out; begin the effect only within `valid_for` seconds of " +
      "sending this request or the last renewal, renew at every third of `hold`, and settle the claim. Otherwise the answer " +
      "is the stored result, or a Problem. Repeated with the same `claim_id`, or without one with the same `Idempotency-Key` " +
      "and `owner`, the request finds the claim again that it had made.",
    tag: "tool calls",
    headers: {
      "Idempotency-Key": Type.Optional(
        Type.String({
          description:
            "Stands for a `claim_id`, together with `owner`, which is needed then: fresh for every claim. It is not the key of the call.",
        }),
      ),
    },
    answers: { 200: { description: "A claim, or the stored result.", schema: "ClaimAnswer", headers: replayHeader } },
    errors: [
      "call_in_flight",
      "call_parked",
      "needs_review",
      "claim_lost",
      "too_large",
      "unsupported_media_type",
      "idempotency_conflict",
      "tool_call_failed",
      "record_malformed",
      "overloaded",
      "store_failed",
      "outcome_unknown",
    ],
  });
}

function prepareDescription() {
  return describeRoute({
    operationId: "prepareCall",
    summary: "Write a call down before it is made",
    description: "Repeating it changes nothing. The key that it answers goes into the claim as `key`.",
    tag: "tool calls",
    answers: { 200: { description: "It is written down.", schema: "PreparedCall" } },
    errors: [
      "too_large",
      "unsupported_media_type",
      "idempotency_conflict",
      "record_malformed",
      "overloaded",
      "store_failed",
      "outcome_unknown",
    ],
  });
}
