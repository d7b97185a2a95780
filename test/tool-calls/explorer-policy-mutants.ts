import type { AcquisitionState } from "../../src/tool-calls/acquisition-decisions.js";
import type { SeenRecord, ToolCallRecord } from "../../src/tool-calls/record.js";
import type { Workload } from "./explorer.js";
import { type MutantCase, onPut, onWrite, withoutStatus } from "./explorer-mutation.js";
import type { Mutant } from "./explorer-world.js";

/* The same for the rules of the policies, of marks, look-ups, parking and decrees. */

const refire: Workload = { args: "x", calls: 1 };
const review: Workload = { ...refire, policy: "review" };
const reviewTwice: Workload = { ...review, calls: 2 };
const markingTwice: Workload = { ...reviewTwice, marks: true };
const reconcile: Workload = { ...refire, policy: "reconcile" };
const other: Workload = { args: "y", calls: 1 };

/** Readers take some records for others. */
function onRead(change: (seen: SeenRecord, machine: AcquisitionState) => Partial<ToolCallRecord> | undefined): Mutant {
  return {
    seen: (seen, machine) => ({ ...seen, record: { ...seen.record, ...change(seen, machine) } }),
  };
}

function isSent({ record }: SeenRecord, { sent }: AcquisitionState): boolean {
  return sent.some((each) => each.claimId === record.claim_id);
}

export const policyMutants: readonly MutantCase[] = [
  {
    name: "a pending record under review is gone when its claim lapses",
    mutant: onWrite(["claim", "claim_again", "renew"], (write) => ({ ...write, ttl: 1 })),
    workers: [review, review],
    budget: { ticks: 1 },
    finds: /gone within its window/,
  },
  {
    name: "what was released is claimed as if there were nothing",
    mutant: onWrite(["claim_again"], (write) => ({ ...write, if_match: { exists: false } })),
    workers: [reviewTwice],
    budget: { throws: 1 },
    finds: /gets nowhere/,
  },
  {
    name: "a throw that says nothing counts as not done",
    mutant: { thrown: "retryable" },
    workers: [reviewTwice],
    budget: { throws: 1 },
    finds: /fire after a doubt/,
  },
  {
    name: "a throw that says nothing counts as a failure",
    mutant: { thrown: "failed" },
    workers: [reviewTwice],
    budget: { throws: 1, ticks: 1 },
    finds: /fire after a doubt/,
  },
  {
    name: "a decreed failure is over like others",
    mutant: onPut(["resolve"], (set) => (set.status === "failed" ? { hold: 1 } : {})),
    workers: [review],
    doubt: "done",
    budget: { ticks: 1, resolves: 1 },
    finds: /decreed was over/,
  },
  {
    name: "outcomes other than completions ask for the claim id alone",
    mutant: onWrite(["fail", "release", "unknown"], withoutStatus),
    workers: [review],
    budget: { throws: 1, duplicates: 1 },
    finds: /late (fail|release|unknown) changed a settled record/,
  },
  {
    name: "the word of a look-up asks for the claim id alone",
    mutant: onWrite(["release", "complete"], withoutStatus),
    workers: [reconcile],
    doubt: "not done",
    budget: { duplicates: 1 },
    finds: /late release changed a settled record/,
  },
  {
    name: "an operator decides about a claim id",
    mutant: {
      write: (write, seen) =>
        write.transition === "resolve" && seen !== undefined
          ? { ...write, if_match: { fields: { claim_id: seen.record.claim_id } } }
          : write,
    },
    workers: [review],
    budget: { ticks: 1, renewals: 1, resolves: 1 },
    finds: /resolve hit a live claim/,
  },
  {
    name: "an operator forgets a claim id",
    mutant: {
      write: (write, seen) =>
        write.transition === "forget" && seen !== undefined
          ? { ...write, if_match: { fields: { claim_id: seen.record.claim_id } } }
          : write,
    },
    workers: [review],
    budget: { ticks: 1, renewals: 1, forgets: 1 },
    finds: /forget hit a live claim/,
  },
  {
    name: "a run takes its claim for its own whatever has become of it",
    mutant: {
      ...onRead((seen, machine) =>
        seen.record.status !== "pending" && isSent(seen, machine)
          ? { status: "pending", phase: "run", hold: 1 }
          : undefined,
      ),
      write: (write, seen) =>
        write.transition === "resolve" && write.op === "put" && seen !== undefined
          ? { ...write, set: { ...write.set, claim_id: seen.record.claim_id } }
          : write,
    },
    workers: [reconcile],
    doubt: "not done",
    budget: { lost: 1, resolves: 1 },
    finds: /does not hold the claim/,
  },
  {
    name: "a run has one claim id for its look-ups and its claim",
    mutant: { context: (context) => ({ ...context, claimId: context.claimId.slice(0, 1) }) },
    workers: [reconcile, reconcile],
    doubt: "not done",
    budget: { duplicates: 1, throws: 1 },
    finds: /fire after a doubt|does not hold the claim/,
  },
  {
    name: "a look-up that was given up is released like a run",
    mutant: onPut(["abandon"], (set) => (set.status === "unknown" ? { status: "released" } : {})),
    workers: [reconcile, reconcile],
    doubt: "done",
    budget: { aborts: 1 },
    finds: /fire after a doubt/,
  },
  {
    name: "the mark that a tool never makes is missed",
    mutant: onRead(({ record }) => ({ marks: record.status === "pending" || record.marks })),
    workers: [review, review],
    budget: { ticks: 1 },
    finds: /lapsed in doubt was taken over/,
  },
  {
    name: "a look-up takes the mark away",
    mutant: onPut(["look_up"], () => ({ fired_at: null })),
    workers: [
      { ...reconcile, marks: true },
      { ...reconcile, marks: true },
    ],
    budget: { throws: 1 },
    finds: /changed the mark/,
  },
  {
    name: "a look-up is a claim like any other",
    mutant: onPut(["look_up"], () => ({ phase: "run" })),
    workers: [reconcile],
    doubt: "done",
    budget: { lost: 1 },
    finds: /fire after a doubt/,
  },
  {
    name: "the lapse of a look-up counts as that of a run",
    mutant: onRead(({ record }) => (record.phase === "reconcile" ? { phase: "run", policy: "refire" } : undefined)),
    workers: [reconcile, reconcile],
    doubt: "done",
    budget: { ticks: 1 },
    finds: /claimed what is being asked about/,
  },
  {
    name: "the finder's policy counts",
    mutant: onRead((_, { acquisition }) => ({ policy: acquisition.identity.policy })),
    workers: [review, refire],
    budget: { ticks: 1 },
    finds: /lapsed in doubt was taken over/,
  },
  {
    name: "the arguments of a released call are not compared",
    mutant: onRead(({ record }, { acquisition }) =>
      record.status === "released" ? { fingerprint: acquisition.identity.fingerprint } : undefined,
    ),
    workers: [refire, other],
    budget: { throws: 1 },
    finds: /other arguments claimed the key/,
  },
  {
    name: "the arguments of a lapsed call are not compared",
    mutant: onRead(({ record, asOf, updatedAt }, { acquisition }) =>
      record.status === "pending" && asOf >= updatedAt + 1000
        ? { fingerprint: acquisition.identity.fingerprint }
        : undefined,
    ),
    workers: [refire, other],
    budget: { ticks: 1 },
    finds: /other arguments claimed the key/,
  },
  {
    name: "a call is parked after its mark",
    mutant: {
      parksLate: true,
      ...onWrite(["park"], (write) => {
        const { claim_id = null, status = null } = write.if_match.fields ?? {};
        return { ...write, if_match: { fields: { claim_id, status } } };
      }),
    },
    workers: [markingTwice],
    budget: { parks: 1 },
    finds: /fire after a doubt/,
  },
  {
    name: "an effect is begun when its mark is answered, however late",
    mutant: { markSuffices: true },
    workers: [markingTwice],
    budget: { ticks: 1 },
    finds: /effect in a claim that had lapsed/,
  },
  {
    name: "a tool that never ends is renewed for ever",
    mutant: { renewsForEver: true },
    workers: [refire],
    budget: { hangs: 1 },
    finds: /never settles/,
  },
];
