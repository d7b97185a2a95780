import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { InvalidRequestError, type OnceKvError } from "../../src/base/errors.js";
import type { Commit, WatchOptions } from "../../src/documents/contract.js";
import type { Access } from "../access/access.js";
import { noteAs, noteGone } from "../answer-log.js";
import { accessOf, loadOf, permitFor, type ServerContext } from "../context.js";
import { logFault } from "../error-answers.js";
import { EventStream } from "../event-stream.js";
import { translateFault } from "../fault-translation.js";
import { serverLimits } from "../limits.js";
import type { LongRequest } from "../long-requests.js";
import { refuseConditions } from "../precondition-headers.js";
import { toProblem } from "../problem.js";
import { changesQuery } from "../schemas/requests.js";
import { describeRoute } from "../schemas/route-schema.js";

const changesRoute = "/v1/changes";

/** Commits as server-sent events. */
export function changesRoutes(plainApp: FastifyInstance, context: ServerContext): void {
  const app = plainApp.withTypeProvider<TypeBoxTypeProvider>();
  const { store, streams } = context;
  const note = context.answerLog.route("GET", changesRoute);

  app.get(
    changesRoute,
    { schema: { querystring: changesQuery(store.limits), ...description() } },
    async (request, reply) => {
      const { shape } = request.query;
      const check = (access: Access): void => {
        if (shape === undefined) access.requireReadAll();
        else access.requireRead(shape);
      };
      check(accessOf(request));
      refuseConditions(request.headers);
      const since = lastEventId(request.headers["last-event-id"]) ?? request.query.since ?? (await newestRevision());
      const permit = permitFor(context, request, check);
      await streams.hold(reply.raw, permit, loadOf(request), (stream) =>
        follow(request, reply, stream, { ...request.query, since }),
      );
    },
  );

  /** Where a stream starts that was not told. Any shape's list tells; watching from there misses nothing. */
  async function newestRevision(): Promise<number> {
    const { revision } = await store.list("any", { limit: 1 });
    return revision;
  }

  async function follow(
    request: FastifyRequest,
    reply: FastifyReply,
    stream: LongRequest,
    options: WatchOptions & { readonly since: number },
  ): Promise<void> {
    const commits = store.watch({ ...options, signal: stream.signal })[Symbol.asyncIterator]();
    const first = commits.next();
    // A fault of the request itself, such as a revision that is compacted, shows within this turn of the event loop and
    // is answered with its own status. What comes later is told in the stream.
    await Promise.race([first, new Promise((resolve) => setImmediate(resolve))]);
    reply.hijack();
    // Fastify notes only what ends by its own hand.
    noteAs(request, () => {});
    const access = accessOf(request);
    const { clock, waitingEvents } = context;
    const events = new EventStream(reply.raw, { clock, heartbeatMs: serverLimits.heartbeatMs, waitingEvents });
    try {
      await events.sendCommit({ revision: options.since, changes: [] });
      await sendAll(events, commits, first);
    } catch (error) {
      const fault = faultOf(stream, error);
      if (fault !== undefined) {
        logFault(request.log, request.id, fault);
        await events.sendProblem(toProblem(fault, (shape) => access.mayRead(shape), request.id));
      }
    } finally {
      events.end();
      await commits.return?.();
      if (stream.ended?.by === "client") noteGone(request, reply, note);
      else note(request, 200, reply.elapsedTime);
    }
  }
}

async function sendAll(
  events: EventStream,
  commits: AsyncIterator<Commit>,
  first: Promise<IteratorResult<Commit>>,
): Promise<void> {
  for (let step = await first; step.done !== true; step = await commits.next()) await events.sendCommit(step.value);
}

/** What to tell the reader; undefined when there is nothing to tell, or nobody to tell it to. */
function faultOf(stream: LongRequest, error: unknown): OnceKvError | undefined {
  const { ended } = stream;
  if (ended === undefined) return translateFault(error);
  return ended.by === "token" ? ended.fault : undefined;
}

/** The revision after which a reconnecting reader goes on. It beats `since`, which is still in the address then. */
function lastEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const text = String(header);
  const revision = Number(text);
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(revision)) return revision;
  throw new InvalidRequestError("Last-Event-ID", "must be the id of an event, which is a revision");
}

function description() {
  return describeRoute({
    operationId: "watchChanges",
    summary: "Follow the changes, one event a commit",
    description:
      "The first event is a bookmark that says where the stream starts. `id` is the commit's revision, and a reader that " +
      "comes back with it in `Last-Event-ID` misses nothing. Later faults are events named `error`, with a Problem.",
    tag: "changes",
    headers: {
      "Last-Event-ID": Type.Optional(Type.String({ description: "Goes on after this revision; beats `since`." })),
    },
    answers: { 200: { description: "Events whose data are a Commit.", mediaType: "text/event-stream" } },
    errors: ["revision_compacted", "revision_unknown", "overloaded"],
  });
}
