import { type ClaimLatency, measureClaimLatency } from "./claim-latency.js";
import { Dispatcher } from "./dispatcher.js";
import { readToolCalls } from "./emitted-call.js";
import { MailService } from "./mail-service.js";
import { describe, Narrator } from "./narrator.js";
import { ServerProcess } from "./server-process.js";
import { type AnsweredCall, judge, type Verdict } from "./verdict.js";
import type { Moment } from "./worker-messages.js";
import { WorkerProcess } from "./worker-process.js";

/*
 * Four worker processes race on the tool calls of `examples/tool-calls.jsonl`, through one server. Two of them are killed
 * in the middle of a call. In the end what reached the mail service is compared with what should have.
 *
 *     npm run demo
 *     npm run demo -- --without-guard      the same without oncekv: mails are doubled, and the exit code is 1
 */

const workerNames = ["worker 1", "worker 2", "worker 3", "worker 4"];

/** In which burst a worker is killed, and at which moment of a call. */
const crashes: ReadonlyMap<number, Moment> = new Map([
  [3, "before the effect"],
  [4, "after the effect"],
]);

const explanation = `What the two crashes show: a worker killed before its effect costs a wait, no more: its claim lapses, and the next
worker fires. A worker killed after its effect, before it could say so, is taken over as well, since no store can know
that the mail had left: the call fires again, and only the key that travels with it, which this mail service honours,
keeps that from being a second mail.
`;

const faultsShown = 5;

const narrator = new Narrator();

async function runDemo(isGuarded: boolean): Promise<boolean> {
  const server = await ServerProcess.start();
  const mail = await MailService.start();
  const workers = workerNames.map(
    (name) => new WorkerProcess(name, [server.url, mail.url, name, isGuarded ? "guarded" : "unguarded"]),
  );
  try {
    console.log(introduction);
    narrator.line(server.firstLine);
    narrator.line(`the mail service listens on ${mail.url}; ${workers.length} workers share the server`);
    const answered: AnsweredCall[] = [];
    const dispatcher = new Dispatcher(workers, (worker, call, answer) => {
      answered.push({ call, answer });
      narrator.answer(worker, call, answer);
    });
    await workThrough(dispatcher);
    const latency = await measureClaimLatency(server.url);
    const verdict = judge(answered, mail.arrivals, countCrashes("after the effect"));
    report(answered, dispatcher.redelivered, verdict, latency);
    return verdict.faults.length === 0;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await mail.stop();
    await server.stop();
  }
}

const introduction = `
An agent's tool calls (send_email, send_text, ...) arrive again and again: retried, repeated, re-ordered. Four workers take
them from one list and race for them through the client, against one server. A mail service counts what reaches it:
each mail must come once. Two workers are killed half way, one before its mail has left and one after.
`;

async function workThrough(dispatcher: Dispatcher): Promise<void> {
  const calls = await readToolCalls();
  for (const burst of new Set(calls.map((call) => call.burst))) {
    const inBurst = calls.filter((call) => call.burst === burst);
    narrator.burst(burst, inBurst.length);
    const moment = crashes.get(burst);
    // First in its burst, so that no repeat has claimed it before, and the dead worker's claim is what all others meet.
    const victim = moment === undefined ? undefined : inBurst.find((call) => call.why === "new");
    if (moment !== undefined && victim !== undefined) {
      const worker = await dispatcher.killDuring(victim, moment);
      narrator.line(`${worker} was killed (SIGKILL) in ${describe(victim)}, ${moment}; it is started again`);
    }
    await Promise.all(inBurst.map((call) => dispatcher.deliver(call)));
  }
}

function report(
  answered: readonly AnsweredCall[],
  redelivered: number,
  verdict: Verdict,
  { claimMs, putMs }: ClaimLatency,
): void {
  const replays = answered.filter(({ answer }) => answer.kind === "replayed").length;
  const conflicts = answered.filter(({ answer }) => answer.kind === "conflict").length;
  const difference = (claimMs - putMs) * 1000;
  narrator.table([
    ["calls seen", `${answered.length + redelivered} (${answered.length} in the file, ${redelivered} delivered again)`],
    ["calls answered", `${answered.length} (fired, replayed or refused; a call whose worker died is delivered again)`],
    ["effects fired", `${verdict.effects} (expected: ${verdict.expectedEffects})`],
    ["replays", `${replays}`],
    ["conflicts caught", `${conflicts}`],
    ["crashes survived", `${crashes.size}`],
    ["duplicates at the mail service", `${verdict.duplicates}`],
    ["fired again after a crash, refused by key", `${verdict.refusedByKey}`],
    ["claim, median", `${claimMs.toFixed(3)} ms`],
    [
      "plain put, median",
      `${putMs.toFixed(3)} ms (the claim: ${difference < 0 ? "" : "+"}${difference.toFixed(0)} us)`,
    ],
  ]);
  for (const fault of verdict.faults.slice(0, faultsShown)) console.log(`WRONG: ${fault}`);
  if (verdict.faults.length > faultsShown) console.log(`WRONG: and ${verdict.faults.length - faultsShown} more`);
  console.log(verdict.faults.length === 0 ? explanation : "Effects were doubled or are missing.\n");
}

function countCrashes(moment: Moment): number {
  return [...crashes.values()].filter((each) => each === moment).length;
}

// So that the processes that were started are ended too.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
const isRight = await runDemo(!process.argv.includes("--without-guard"));
process.exitCode = isRight ? 0 : 1;
