import type { FastifyBaseLogger, FastifyInstance, FastifyServerFactory } from "fastify";
import { fastify, LogController } from "fastify";
import { type Clock, systemClock } from "../src/base/clock.js";
import type { DocumentStore } from "../src/documents/contract.js";
import { openAccess } from "./access/access.js";
import type { RequestBounds } from "./access/request-gate.js";
import type { TokenEntry } from "./access/token-entry.js";
import { Tokens } from "./access/tokens.js";
import { admitRequests, boundLoad } from "./admission.js";
import { AnswerLog } from "./answer-log.js";
import { describeApi } from "./api-description.js";
import { useJsonBodies } from "./body-parser.js";
import { ConnectionBound } from "./connection-bound.js";
import { answerConnectionFault } from "./connection-faults.js";
import { decorateRequests, type ServerContext } from "./context.js";
import { Drain } from "./drain.js";
import { sendRouterFault, useErrorAnswers } from "./error-answers.js";
import { connectionTimes, type GivenLimits, limitsOf, type ServerBounds, type ServerLimits } from "./limits.js";
import { Load } from "./load.js";
import { LongRequests } from "./long-requests.js";
import { Metrics } from "./metrics.js";
import { openFilesMax } from "./open-files.js";
import { PendingAnswers } from "./pending-answers.js";
import { ReloadCount } from "./reload/reload-count.js";
import { queryAsText, useSchemas } from "./request-validation.js";
import { backupRoutes, oneBackup } from "./routes/backup.js";
import { batchRoute } from "./routes/batch.js";
import { changesRoutes } from "./routes/changes.js";
import { writeRoutes } from "./routes/documents.js";
import { listRoutes } from "./routes/lists.js";
import { healthRoutes, operationRoutes } from "./routes/operations.js";
import { readDocumentRoute } from "./routes/read-document.js";
import { toolCallClaimRoutes } from "./routes/tool-call-claims.js";
import { toolCallHolderRoutes } from "./routes/tool-call-holders.js";
import { toolCallRecordRoutes } from "./routes/tool-call-records.js";
import { serveCalls } from "./served-calls.js";
import { checkKeyPair, type TlsKeyPair } from "./tls/key-pair.js";
import { makeTlsServer } from "./tls/tls-server.js";
import { Turns } from "./turns.js";
import { WaitingEvents } from "./waiting-events.js";

export interface ServerOptions {
  /** What is served. It stays open when the server closes: whoever opened it closes it. */
  readonly store: DocumentStore;
  /** Who may do what; `Tokens` can be replaced while the server runs. Absent: everybody may do everything. */
  readonly tokens?: readonly TokenEntry[] | Tokens;
  /** A pino logger, or one like it; nothing is logged when absent. */
  readonly logger?: FastifyBaseLogger;
  /** The system's clocks when absent. */
  readonly clock?: Clock;
  readonly bounds?: ServerBounds;
  /** Speaks HTTPS with this key and certificate; HTTP when absent. */
  readonly tls?: TlsKeyPair;
  /** Numbers for `/v1/stats` and `/metrics`; those of the store's own method `stats` when absent. */
  readonly stats?: () => object;
  /** Whether `/metrics` tells about memory, processor and event loop too; false when absent. */
  readonly processMetrics?: boolean;
}

/**
 * Makes a server over a store: a Fastify instance that does not listen yet. `inject` it in tests, `listen` where it is
 * embedded (on a loopback address unless it has tokens), and `close` it: that drains, and cuts no request.
 *
 * @throws InvalidRequestError for tokens that are not what a tokens file may hold, for bounds that are none, and
 *   for a key and a certificate that are no pair
 */
export function createServer(options: ServerOptions): FastifyInstance {
  return createWatchingServer(options, new ReloadCount());
}

/** The same for `serve`, which reads files again and counts those that are refused. */
export function createWatchingServer(options: ServerOptions, reloads: ReloadCount): FastifyInstance {
  const { store, bounds = {}, clock = systemClock } = options;
  const tokens = tokensOf(options.tokens);
  const everybody = openAccess();
  const storeStats = options.stats ?? (() => statsOf(store));
  const limits = limitsOf(bounds, openFilesMax());
  const waits = new LongRequests("waits", limits.waitsMax);
  const streams = new LongRequests("streams", limits.streamsMax);
  const backups = oneBackup();
  const drain = new Drain({
    clock,
    longRequests: [waits, streams, backups],
    deadlineMs: limits.drainDeadlineMs,
  });
  const load = new Load({ clock, ...limits });
  const waitingEvents = new WaitingEvents({ clock, bytesMax: limits.waitingEventBytesMax, answerMs: limits.answerMs });
  const connections = new ConnectionBound({ clock, connectionsMax: limits.connectionsMax });
  const pending = new PendingAnswers();
  const served = serveCalls(store, clock);
  const metrics = new Metrics({
    storeStats,
    toolCalls: () => served.calls.stats(),
    reviews: () => served.reviews.latest(),
    reloads: () => reloads.states(),
    waits: () => waits.size,
    streams: () => streams.size,
    load,
    waitingEvents,
    connections,
    processMetrics: options.processMetrics ?? false,
  });

  const app: FastifyInstance = fastify({
    ...(options.logger === undefined ? {} : { loggerInstance: options.logger }),
    // One line an answer is written by AnswerLog; a logger of its own for each request would cost more than that line.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    frameworkErrors: (error, request, reply) => sendRouterFault(context, request, reply, error),
    clientErrorHandler: (error, socket) => answerConnectionFault(pending, error, socket),
    return503OnClosing: false,
    exposeHeadRoutes: false,
    keepAliveTimeout: limits.keepAliveMs,
    requestTimeout: limits.requestMs,
    ...(options.tls === undefined ? {} : { serverFactory: tlsServerFactory(options.tls, limits) }),
    http: connectionTimes(limits),
    routerOptions: { maxParamLength: limits.pathPartLengthMax, querystringParser: queryAsText },
  });
  const context: ServerContext = {
    store,
    clock,
    hasTokens: tokens !== undefined,
    authenticate: (header) => (tokens === undefined ? everybody : tokens.authenticate(header, clock.wallNow())),
    requestBounds: requestBoundsOf(limits),
    drain,
    load,
    pages: new Turns(limits.pagesAtOnceMax),
    waitingEvents,
    waits,
    streams,
    backups,
    metrics,
    answerLog: new AnswerLog(metrics, app.log),
    served,
    storeStats,
  };

  decorateRequests(app);
  useJsonBodies(app);
  useSchemas(app);
  useErrorAnswers(app, context);
  context.answerLog.follow(app);
  describeApi(app);
  registerRoutes(app, context);
  drain.follow(app.server);
  connections.follow(app.server);
  pending.follow(app.server);
  // Beyond a number of headers Node drops the rest without a word, conditions among them. Their size is bounded anyway.
  app.server.maxHeadersCount = 0;
  app.addHook("preClose", (done) => {
    drain.begin(app.server);
    done();
  });
  app.addHook("onClose", async () => {
    drain.finish();
    load.finish();
    waitingEvents.finish();
    // Nobody waits for an answer any more: what is left are claims that are taken back, each of which gets one more try.
    await served.calls.close({ timeout: 0 });
  });
  return app;
}

function tlsServerFactory(tls: TlsKeyPair, limits: ServerLimits): FastifyServerFactory {
  checkKeyPair(tls, "tls.key", "tls.cert");
  return (onRequest) => makeTlsServer(tls, limits, onRequest);
}

function tokensOf(tokens: ServerOptions["tokens"]): Tokens | undefined {
  return tokens === undefined || tokens instanceof Tokens ? tokens : new Tokens(tokens);
}

function requestBoundsOf({ requestsAtOnce, requestsPerSecond }: GivenLimits): RequestBounds {
  return { atOnce: requestsAtOnce ?? null, perSecond: requestsPerSecond ?? null };
}

/** In scopes of their own, since only some routes ask who is there. */
function registerRoutes(app: FastifyInstance, context: ServerContext): void {
  app.register((scope, _, done) => {
    healthRoutes(scope, context);
    done();
  });
  app.register((scope, _, done) => {
    admitRequests(scope, context);
    operationRoutes(scope, context);
    done();
  });
  app.register((scope, _, done) => {
    admitRequests(scope, context);
    boundLoad(scope, context);
    writeRoutes(scope, context);
    readDocumentRoute(scope, context);
    listRoutes(scope, context);
    batchRoute(scope, context);
    changesRoutes(scope, context);
    toolCallClaimRoutes(scope, context);
    toolCallHolderRoutes(scope, context);
    toolCallRecordRoutes(scope, context);
    backupRoutes(scope, context);
    done();
  });
}

/** The embedded store has numbers about itself; other stores need not. */
function statsOf(store: DocumentStore): object {
  if (!("stats" in store) || typeof store.stats !== "function") return {};
  const stats: unknown = store.stats();
  return typeof stats === "object" && stats !== null ? stats : {};
}
