import type { FastifyInstance } from "fastify";
import { OnceKvError } from "../../src/base/errors.js";
import { jsonType, sendText } from "../answer.js";
import { accessOf, type ServerContext } from "../context.js";
import { noQuery } from "../schemas/requests.js";
import { describeRoute } from "../schemas/route-schema.js";

/** For orchestrators, which have no token: whether the process lives, and whether it should be sent requests. */
export function healthRoutes(app: FastifyInstance, context: ServerContext): void {
  const { store, drain, storeStats } = context;

  app.get(
    "/healthz",
    { exposeHeadRoute: true, schema: { querystring: noQuery(), ...healthDescription() } },
    async (_, reply) => {
      sendText(drain, reply, 200, jsonType, '{"status":"ok"}');
    },
  );

  app.get(
    "/readyz",
    { exposeHeadRoute: true, schema: { querystring: noQuery(), ...readyDescription() } },
    async (_, reply) => {
      if (drain.draining) throw new OnceKvError("store_closed", "the server is shutting down", { retryAfter: 1 });
      const stats = storeStats();
      if ("failed" in stats && stats.failed === true)
        throw new OnceKvError("store_failed", "the store can no longer write and must be reopened");
      // A read that finds nothing: it fails when the store is closed or out of reach.
      await store.getDocument("readyz", "readyz");
      sendText(drain, reply, 200, jsonType, '{"status":"ready"}');
    },
  );
}

/** For operators. */
export function operationRoutes(app: FastifyInstance, context: ServerContext): void {
  const { drain, load, metrics, store, waits, streams, waitingEvents } = context;

  app.get("/metrics", { schema: { querystring: noQuery(), ...metricsDescription() } }, async (request, reply) => {
    accessOf(request).requireAdminAll();
    sendText(drain, reply, 200, metrics.contentType, await metrics.text());
  });

  app.get("/v1/stats", { schema: { querystring: noQuery(), ...statsDescription() } }, async (request, reply) => {
    accessOf(request).requireAdminAll();
    const server = {
      waits: waits.size,
      streams: streams.size,
      requests: load.requests,
      held_bytes: load.bytes,
      waiting_event_bytes: waitingEvents.bytes,
    };
    const limits = inSnakeCase(store.limits);
    sendText(drain, reply, 200, jsonType, JSON.stringify({ store: context.storeStats(), limits, server }));
  });

  let openApi: string | undefined;
  app.get("/openapi.json", { schema: { querystring: noQuery(), ...openApiDescription() } }, async (_, reply) => {
    openApi ??= JSON.stringify(app.swagger());
    sendText(drain, reply, 200, jsonType, openApi);
  });
}

/** Names in JSON are in snake case: `idBytesMax` is `id_bytes_max` there. */
function inSnakeCase(members: object): object {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}

function healthDescription() {
  return describeRoute({
    operationId: "getHealth",
    summary: "Whether the process lives",
    tag: "operations",
    needsToken: false,
    answers: { 200: { description: "It does.", mediaType: "application/json" } },
    errors: [],
  });
}

function readyDescription() {
  return describeRoute({
    operationId: "getReadiness",
    summary: "Whether the server takes requests",
    tag: "operations",
    needsToken: false,
    answers: { 200: { description: "It does.", mediaType: "application/json" } },
    errors: ["store_closed", "store_failed", "unavailable"],
  });
}

function metricsDescription() {
  return describeRoute({
    operationId: "getMetrics",
    summary: "Metrics for Prometheus",
    tag: "operations",
    answers: { 200: { description: "The metrics.", mediaType: "text/plain" } },
    errors: [],
  });
}

function statsDescription() {
  return describeRoute({
    operationId: "getStats",
    summary: "Numbers and bounds of the store and the server",
    tag: "operations",
    answers: { 200: { description: "`store`, `limits` and `server`.", mediaType: "application/json" } },
    errors: [],
  });
}

function openApiDescription() {
  return describeRoute({
    operationId: "getDescription",
    summary: "This description",
    tag: "operations",
    answers: { 200: { description: "An OpenAPI 3.1 document.", mediaType: "application/json" } },
    errors: [],
  });
}
