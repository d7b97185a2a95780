import { decideForget, decideResolve } from "../../src/tool-calls/decisions.js";
import type { Verdict } from "../../src/tool-calls/transition-types.js";
import { plan, resolve } from "../../src/tool-calls/transitions.js";
import { wordsAbout } from "./explorer-look-up.js";
import { seenOf } from "./explorer-store.js";
import { identityOf, post, someday } from "./explorer-worker.js";
import { type Setting, type Step, spend, type World } from "./explorer-world.js";

/* People and programs that decide about a record, and callers that write a call down first. What they send arrives when it does. */

const decree = { by: "ann", note: "", at: someday };

export function operatorSteps(world: World, setting: Setting): Step[] {
  const { budget, document, now } = world;
  const seen = seenOf(document, now);
  const steps: Step[] = [];
  if (seen !== undefined && budget.resolves > 0 && decideResolve(seen) === "resolvable") {
    const resolving = (after: World, verdict: Exclude<Verdict, { kind: "unknown" }>, hasty: boolean): World => {
      const write = resolve(seen, verdict, decree, setting.timing);
      return post(spend(after, "resolves"), "operator", "nobody", hasty ? { ...write, hasty } : write, setting);
    };
    for (const { verdict, world: after, hasty } of wordsAbout(world)) {
      if (verdict.kind === "unknown") continue;
      const label = `the operator says: ${hasty ? "not done so far" : verdict.kind}`;
      steps.push([label, () => resolving(after, verdict, hasty)]);
    }
    // A decree, whatever happened.
    const failed = { kind: "failed", error: { name: "Error", message: "given up" } } as const;
    steps.push(["the operator says: failed", () => resolving(world, failed, false)]);
  }
  if (seen !== undefined && budget.forgets > 0) {
    const write = decideForget(seen);
    if (write !== "in_flight") {
      steps.push(["the operator forgets", () => post(spend(world, "forgets"), "operator", "nobody", write, setting)]);
    }
  }
  const [first] = world.workers;
  if (budget.plans > 0 && first !== undefined) {
    const write = plan(identityOf(first.caller));
    steps.push(["somebody plans", () => post(spend(world, "plans"), "planner", "nobody", write, setting)]);
  }
  return steps;
}
