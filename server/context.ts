import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../src/base/clock.js";
import { invariant } from "../src/base/errors.js";
import type { DocumentStore } from "../src/documents/contract.js";
import type { Access } from "./access/access.js";
import { type Permit, permitOf } from "./access/permit.js";
import type { RequestBounds } from "./access/request-gate.js";
import type { AnswerLog } from "./answer-log.js";
import type { Drain } from "./drain.js";
import type { Load, RequestLoad } from "./load.js";
import type { LongRequests } from "./long-requests.js";
import type { Metrics } from "./metrics.js";
import type { ServedCalls } from "./served-calls.js";
import type { Turns } from "./turns.js";
import type { WaitingEvents } from "./waiting-events.js";

/** What the routes of one server share. */
export interface ServerContext {
  readonly store: DocumentStore;
  readonly clock: Clock;
  /** Whether requests must say who they are. */
  readonly hasTokens: boolean;
  /** The access of a request by its `Authorization` header. @throws OnceKvError `unauthorized` */
  readonly authenticate: (header: string | undefined) => Access;
  /** How many requests each token may send that has no bounds of its own. */
  readonly requestBounds: RequestBounds;
  readonly drain: Drain;
  /** What all requests together hold. */
  readonly load: Load;
  /** Pages and `get-many`. */
  readonly pages: Turns;
  /** Events that wait for their readers. */
  readonly waitingEvents: WaitingEvents;
  readonly waits: LongRequests;
  readonly streams: LongRequests;
  readonly backups: LongRequests;
  readonly metrics: Metrics;
  readonly answerLog: AnswerLog;
  /** The tool calls of those who speak HTTP only. */
  readonly served: ServedCalls;
  /** What the store tells about itself. */
  readonly storeStats: () => object;
}

const accessDecorator = "oncekvAccess";
const loadDecorator = "oncekvLoad";

/** Makes room for the access of each request, and for what it holds. */
export function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest(accessDecorator, null);
  app.decorateRequest(loadDecorator, null);
}

/** Notes what counts the load of a request. */
export function loadAs(request: FastifyRequest, load: RequestLoad): void {
  request.setDecorator<RequestLoad | null>(loadDecorator, load);
}

/** What counts the load of a request; undefined for one that is not counted, or was not let in. */
export function loadOf(request: FastifyRequest): RequestLoad | undefined {
  return request.getDecorator<RequestLoad | null>(loadDecorator) ?? undefined;
}

/** Notes who sent a request, once that is known. */
export function admitAs(request: FastifyRequest, access: Access): void {
  request.setDecorator<Access | null>(accessDecorator, access);
}

/** What a request may do. Every route that calls it must have been registered where requests are authenticated. */
export function accessOf(request: FastifyRequest): Access {
  const access = admittedAs(request);
  invariant(access !== null, "a request reached its route without having been authenticated");
  return access;
}

/** The same, null for a request that was not admitted. */
export function admittedAs(request: FastifyRequest): Access | null {
  return request.getDecorator<Access | null>(accessDecorator);
}

/** The permit of a request that goes on: as long as its sender is allowed what `check` asks. */
export function permitFor(context: ServerContext, request: FastifyRequest, check: (access: Access) => void): Permit {
  return permitOf(accessOf(request), context.clock, check);
}
