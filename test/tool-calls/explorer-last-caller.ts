import { Violation } from "./explorer-ghost.js";
import { stepsFrom, timePasses } from "./explorer-steps.js";
import { lastCaller } from "./explorer-worker.js";
import { noBudget, type Setting, type Worker, type World } from "./explorer-world.js";

/*
 * "Every call settles" is about the future of a world, not about one step. So wherever everything has happened, one more
 * caller comes, nothing goes wrong any more, and it must get somewhere: to its turn, or to an answer other than that
 * somebody is at work.
 */

/** Steps that the last caller may need. */
const stepsMax = 200;

export function judgeEnd(world: World, setting: Setting): void {
  const [first] = world.workers;
  if (first === undefined) return;
  const caller: Worker = {
    ...first,
    name: lastCaller,
    calls: 1,
    rounds: 0,
    claims: 0,
    abandoned: [],
    run: { at: "idle" },
  };
  const patient: Setting = { ...setting, waitMs: 40 * setting.tickMs };
  let last: World = { ...world, budget: noBudget, workers: [...world.workers, caller] };
  for (let count = 0; count < stepsMax; count++) {
    const { run } = last.workers.at(-1) ?? caller;
    if (run.at === "running") return;
    if (run.at === "answered") {
      if (run.how === "in_flight" || run.how === "rejected")
        throw new Violation(`the last caller is ${run.how}: the call never settles`);
      return;
    }
    const steps = stepsFrom(last, patient);
    const step = steps.find(([label]) => label !== timePasses) ?? steps[0];
    if (step === undefined) throw new Violation("the last caller waits for ever");
    last = step[1]();
  }
  throw new Violation("the last caller gets nowhere");
}

/** Worlds with equal ones look the same to the last caller. */
export function endKey({ document, now, workers }: World): string {
  if (document === undefined) return "-";
  const { fingerprint, status, phase, policy, marks, fired_at, hold } = document.fields;
  const hung = workers.map(({ run }) =>
    run.at === "running"
      ? `${(run.hungUntil ?? 0) - now} ${run.effect} ${run.claim.claimId === document.fields.claim_id}`
      : "",
  );
  const left = document.expiresAt === null ? "-" : document.expiresAt - now;
  return [fingerprint, status, phase, policy, marks, fired_at, hold, now - document.updatedAt, left, hung].join();
}
