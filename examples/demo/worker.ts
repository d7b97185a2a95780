import { randomUUID } from "node:crypto";
import { IdempotencyConflictError, toolCalls } from "oncekv";
import { createClient } from "oncekv/client";
import type { EmittedCall } from "./emitted-call.js";
import type { Answer, Report, Task } from "./worker-messages.js";

/*
 * One of several workers that share a server. All that makes the calls fire once is in `guarded`; the rest receives calls
 * and reports how they ended.
 */

const [serverUrl = "", mailUrl = "", name = "", mode = ""] = process.argv.slice(2);

/** Seconds. Short, so that the demo need not wait long for a dead worker's claim to lapse. */
const pendingTtl = 3;

const client = createClient({ url: serverUrl });
const calls = toolCalls(client, { pendingTtl, completedTtl: 600, failedTtl: 60, owner: name });

/** The tool: one request to the mail service. */
async function send(task: Task, idempotencyKey: string): Promise<string> {
  if (task.stopAt === "before the effect") await standStill();
  const response = await fetch(mailUrl, {
    method: "POST",
    headers: { "idempotency-key": idempotencyKey },
    body: JSON.stringify({ tool: task.call.tool, args: task.call.args }),
  });
  const { message_id } = (await response.json()) as { message_id: string };
  if (task.stopAt === "after the effect") await standStill();
  return message_id;
}

async function guarded(task: Task): Promise<Answer> {
  const { tool, args } = task.call;
  const outcome = await calls.run({ tool, args, ...identityOf(task.call) }, (call) => send(task, call.key));
  return outcome.was_replay
    ? { kind: "replayed", messageId: outcome.result }
    : { kind: "fired", messageId: outcome.result, attempt: outcome.attempt };
}

/** A key of the caller's own says what is the same; else equal arguments mean the same within one turn of the user. */
function identityOf(call: EmittedCall): { key: string } | { scope: string } {
  return call.key === undefined ? { scope: call.turn } : { key: call.key };
}

/** What it would be like without: each call is a call. */
async function unguarded(task: Task): Promise<Answer> {
  return { kind: "fired", messageId: await send(task, randomUUID()), attempt: 1 };
}

async function answer(task: Task): Promise<Answer> {
  try {
    return await (mode === "unguarded" ? unguarded(task) : guarded(task));
  } catch (error) {
    if (error instanceof IdempotencyConflictError) return { kind: "conflict" };
    return { kind: "error", message: String(error) };
  }
}

function standStill(): Promise<never> {
  tell({ report: "standing still" });
  return new Promise(() => {});
}

function tell(report: Report): void {
  process.send?.(report);
}

process.on("message", async (task: Task) => {
  tell({ report: "answered", id: task.id, answer: await answer(task) });
});
process.once("disconnect", () => process.exit());
