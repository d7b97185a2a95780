import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { type ErrorCode, OnceKvError } from "../../src/base/errors.js";
import type { KnownOutcome } from "../../src/tool-calls/index.js";
import type { Access } from "../access/access.js";
import { jsonType, sendRead, sendText } from "../answer.js";
import { noteAs } from "../answer-log.js";
import { callShape } from "../call-shape.js";
import { accessOf, type ServerContext } from "../context.js";
import { writeBodyBytesMax } from "../limits.js";
import { sendPage } from "../page-answers.js";
import { refuseConditions } from "../precondition-headers.js";
import { preferredWait } from "../prefer-header.js";
import { waitHeader } from "../schemas/answers.js";
import { noQuery } from "../schemas/requests.js";
import { describeRoute } from "../schemas/route-schema.js";
import {
  approveBody,
  callListQuery,
  callPath,
  emptyBody,
  outcomeQuery,
  type ResolveBody,
  resolveBody,
} from "../schemas/tool-call-requests.js";
import { checkWait, inRequestWords } from "../tool-call-request.js";
import { holdCallWait } from "../tool-call-waits.js";

/** Looking at calls, waiting for them, and deciding about those in doubt. */
export function toolCallRecordRoutes(plainApp: FastifyInstance, context: ServerContext): void {
  const app = plainApp.withTypeProvider<TypeBoxTypeProvider>();
  const { store, drain } = context;
  const { calls } = context.served;
  const { limits } = store;
  const params = callPath(limits);
  const bodyLimit = writeBodyBytesMax(limits);
  const noteWait = context.answerLog.route("GET", "/v1/tool-calls/{key}/outcome (wait)");

  app.get(
    "/v1/tool-calls",
    { schema: { querystring: callListQuery(limits), ...listDescription() } },
    async (request, reply) => {
      requireRead(request);
      await sendPage(context, reply, () => inRequestWords(() => calls.list(request.query)));
    },
  );

  app.get(
    "/v1/tool-calls/:key",
    { schema: { params, querystring: noQuery(), ...getDescription() } },
    async (request, reply) => {
      requireRead(request);
      const { key } = request.params;
      const document = await inRequestWords(() => calls.get(key));
      if (document === undefined) throw noCall(key);
      sendRead(drain, reply, JSON.stringify(document));
    },
  );

  app.get(
    "/v1/tool-calls/:key/outcome",
    { schema: { params, querystring: outcomeQuery(limits), ...outcomeDescription() } },
    async (request, reply) => {
      requireRead(request);
      const { key } = request.params;
      const preferred = preferredWait(request.headers["prefer"]);
      const timeout = checkWait(
        request.query.wait ?? preferred ?? 0,
        request.query.wait === undefined ? "Prefer" : "wait",
        limits,
      );
      if (preferred !== undefined) reply.header("preference-applied", "wait");
      if (timeout > 0) noteAs(request, noteWait);
      const answer = await holdCallWait(context, request, reply, mayRead, noteWait, ({ signal }) =>
        inRequestWords(() => calls.wait(key, { timeout, signal })),
      );
      if (answer === undefined) return;
      if (answer.value === undefined) throw noCall(key);
      sendRead(drain, reply, JSON.stringify(answer.value));
    },
  );

  app.post(
    "/v1/tool-calls/:key/resolve",
    { bodyLimit, schema: { params, querystring: noQuery(), body: resolveBody, ...resolveDescription() } },
    async (request, reply) => {
      requireDecision(request);
      const { by, note, fingerprint, ...known } = request.body;
      const record = await inRequestWords(() =>
        calls.resolve(request.params.key, knownOutcome(known), { by, note, fingerprint }),
      );
      sendText(drain, reply, 200, jsonType, JSON.stringify(record));
    },
  );

  app.post(
    "/v1/tool-calls/:key/approve",
    { bodyLimit, schema: { params, querystring: noQuery(), body: approveBody, ...approveDescription() } },
    async (request, reply) => {
      requireDecision(request);
      const record = await inRequestWords(() => calls.approve(request.params.key, request.body));
      sendText(drain, reply, 200, jsonType, JSON.stringify(record));
    },
  );

  app.delete(
    "/v1/tool-calls/:key",
    { schema: { params, querystring: noQuery(), body: emptyBody, ...forgetDescription() } },
    async (request, reply) => {
      requireDecision(request);
      const forgotten = await inRequestWords(() => calls.forget(request.params.key));
      sendText(drain, reply, 200, jsonType, JSON.stringify({ forgotten }));
    },
  );
}

function mayRead(access: Access): void {
  access.requireRead(callShape);
}

function requireRead(request: FastifyRequest): void {
  mayRead(accessOf(request));
  refuseConditions(request.headers);
}

/** A worker must not be able to approve what it does. Deciding tells what is stored, also where it is refused. */
function requireDecision(request: FastifyRequest): void {
  accessOf(request).requireAdmin(callShape);
  accessOf(request).requireWrite(callShape);
  requireRead(request);
}

/** That it says one thing, and which, is judged where all such decisions are. A text stands for an error's message. */
function knownOutcome(known: Pick<ResolveBody, "result" | "error" | "not_done">): KnownOutcome {
  return typeof known.error === "string"
    ? { ...known, error: { message: known.error } }
    : ({ ...known } as unknown as KnownOutcome);
}

function noCall(key: string): OnceKvError {
  return new OnceKvError("not_found", `there is no call ${JSON.stringify(key)}`);
}

function listDescription() {
  return describeRoute({
    operationId: "listCalls",
    summary: "Read a page of the records of calls",
    description: "In the order of their keys. Only `next: null` ends the list.",
    tag: "tool calls",
    answers: { 200: { description: "The page.", schema: "CallPage" } },
    errors: [],
  });
}

function getDescription() {
  return describeRoute({
    operationId: "getCall",
    summary: "Read the record of a call",
    tag: "tool calls",
    answers: { 200: { description: "The record.", schema: "CallDocument" } },
    errors: ["not_found", "record_malformed"],
  });
}

function outcomeDescription() {
  return describeRoute({
    operationId: "getOutcome",
    summary: "Read what a call came to, or wait for it",
    description:
      "It never claims. `?wait=<seconds>` and `Prefer: wait=<seconds>` say how long to wait; the query counts.",
    tag: "tool calls",
    headers: { Prefer: Type.Optional(Type.String({ description: "`wait=<seconds>`, 0 to 300, fractions allowed." })) },
    answers: { 200: { description: "The stored outcome.", schema: "Outcome", headers: waitHeader } },
    errors: [
      "not_found",
      "call_in_flight",
      "call_parked",
      "needs_review",
      "tool_call_failed",
      "record_malformed",
      "overloaded",
    ],
  });
}

const decisionErrors: readonly ErrorCode[] = [
  "not_found",
  "call_in_flight",
  "nothing_to_resolve",
  "idempotency_conflict",
  "too_large",
  "unsupported_media_type",
  "record_malformed",
  "overloaded",
  "store_failed",
  "outcome_unknown",
];

function resolveDescription() {
  return describeRoute({
    operationId: "resolveCall",
    summary: "Say what became of a call in doubt",
    description: "Waiters wake and replay it, or claim. `not_done` means that it can no longer happen either.",
    tag: "tool calls",
    answers: { 200: { description: "The record as it stands now.", schema: "CallRecord" } },
    errors: decisionErrors,
  });
}

function approveDescription() {
  return describeRoute({
    operationId: "approveCall",
    summary: "Let a parked call go on",
    description: "The next claim finds it in `approval`. To reject it, resolve it with an error.",
    tag: "tool calls",
    answers: { 200: { description: "The record as it stands now.", schema: "CallRecord" } },
    errors: decisionErrors,
  });
}

function forgetDescription() {
  return describeRoute({
    operationId: "forgetCall",
    summary: "Forget a call that nobody works on",
    description: "The next call with its key is a new one, with any arguments.",
    tag: "tool calls",
    answers: { 200: { description: "It is gone.", schema: "Forgotten" } },
    errors: [
      "call_in_flight",
      "too_large",
      "unsupported_media_type",
      "record_malformed",
      "overloaded",
      "store_failed",
      "outcome_unknown",
    ],
  });
}
