import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { OnceKvError } from "../../src/base/errors.js";
import type { Access } from "../access/access.js";
import { permitOf } from "../access/permit.js";
import { noteAs, noteGone } from "../answer-log.js";
import { type BackupSource, backupSourceOf } from "../backup-source.js";
import { BackupStream, backupType } from "../backup-stream.js";
import { accessOf, loadOf, type ServerContext } from "../context.js";
import { logFault } from "../error-answers.js";
import { translateFault } from "../fault-translation.js";
import { serverLimits } from "../limits.js";
import { type LongRequest, LongRequests } from "../long-requests.js";
import { refuseConditions } from "../precondition-headers.js";
import { noQuery } from "../schemas/requests.js";
import { describeRoute } from "../schemas/route-schema.js";

const backupRoute = "/v1/backup";

/** A backup of the store while it is served. */
export function backupRoutes(app: FastifyInstance, context: ServerContext): void {
  const note = context.answerLog.route("GET", backupRoute);
  const { backups } = context;

  app.get(backupRoute, { schema: { querystring: noQuery(), ...description() } }, async (request, reply) => {
    const access = accessOf(request);
    requireWholeStore(access);
    refuseConditions(request.headers);
    const source = backupSourceOf(context.store);
    if (source === undefined) {
      throw new OnceKvError("route_not_found", "the store behind this server has no backups to give");
    }
    const permit = permitOf(access, context.clock, requireWholeStore);
    await backups.hold(reply.raw, permit, loadOf(request), (held) => send(request, reply, source, held));
  });

  async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    source: BackupSource,
    held: LongRequest,
  ): Promise<void> {
    const stream = new BackupStream(reply.raw, held, {
      clock: context.clock,
      stallMs: serverLimits.backupStallMs,
      onBegin: () => {
        reply.hijack();
        // Fastify notes only what ends by its own hand.
        noteAs(request, () => {});
      },
    });
    try {
      await source.backupTo(stream, { signal: held.signal });
      stream.end();
      note(request, 200, reply.elapsedTime);
    } catch (error) {
      if (held.ended?.by === "client") {
        if (!stream.begun) reply.hijack();
        return noteGone(request, reply, note);
      }
      if (!stream.begun) throw error;
      stream.cut();
      const fault = translateFault(error);
      logFault(request.log, request.id, fault);
      note(request, fault.status, reply.elapsedTime);
    }
  }
}

/** The backups that one server gives at a time: each reads the whole store and holds a snapshot of it. */
export function oneBackup(): LongRequests {
  return new LongRequests("backups", serverLimits.backupsMax);
}

/** Who may have a copy of everything. @throws OnceKvError `forbidden` */
function requireWholeStore(access: Access): void {
  access.requireReadAll();
  access.requireAdminAll();
}

function description() {
  return describeRoute({
    operationId: "getBackup",
    summary: "A backup of the store as it is now",
    description:
      "All living documents of one snapshot, in the form that `oncekv restore` reads. It is whole only if its last bytes " +
      "are its end mark and the checksum of everything before: `oncekv backup <file> --url` checks that. One at a time.",
    tag: "operations",
    answers: { 200: { description: "The backup.", mediaType: backupType } },
    errors: ["route_not_found", "overloaded", "store_damaged"],
  });
}
