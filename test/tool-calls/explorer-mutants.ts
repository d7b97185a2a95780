import type { AcquisitionState } from "../../src/tool-calls/acquisition-decisions.js";
import { type MutantCase, onPut, onWrite, withoutStatus } from "./explorer-mutation.js";

/*
 * Each takes one rule of the protocol away. That the explorer finds a violation shows two things: that the rule is needed,
 * and that the explorer would notice if the product lost it.
 */

const alone = [{ args: "x", calls: 1 }];
const two = [
  { args: "x", calls: 1 },
  { args: "x", calls: 1 },
];
const different = [
  { args: "x", calls: 1 },
  { args: "y", calls: 1 },
];
const again = [{ args: "x", calls: 2 }];

function resent(machine: AcquisitionState, sentAt: number): AcquisitionState {
  return { ...machine, sent: machine.sent.map((sent) => ({ ...sent, sentAt })) };
}

export const mutants: readonly MutantCase[] = [
  {
    name: "a pending record lives as long as its lease",
    mutant: onWrite(["claim", "claim_again", "renew"], (write) => ({ ...write, ttl: 1 })),
    workers: two,
    budget: { ticks: 2 },
    finds: /gone within its window|refused though nobody/,
  },
  {
    name: "a late completion may create the record",
    mutant: onWrite(["complete"], (write) => ({ ...write, orAbsent: true })),
    workers: alone,
    budget: { ticks: 3 },
    finds: /late complete created a record/,
  },
  {
    name: "a release deletes the record",
    mutant: onWrite(["release", "unknown", "abandon"], ({ transition, if_match }) => ({
      op: "delete",
      transition,
      if_match,
    })),
    workers: different,
    budget: { ticks: 0, throws: 1 },
    finds: /gone within its window/,
  },
  {
    name: "a failure ends by its ttl",
    mutant: onWrite(["fail"], (write) => ({ ...write, ttl: 1 })),
    workers: two,
    budget: { ticks: 1, throws: 1 },
    finds: /gone within its window/,
  },
  {
    name: "a lapsed claim is taken over by its claim id",
    mutant: {
      write: (write, seen) =>
        write.transition === "claim_again" && seen !== undefined
          ? { ...write, if_match: { fields: { claim_id: seen.record.claim_id } } }
          : write,
    },
    workers: two,
    budget: { ticks: 1, renewals: 1 },
    finds: /live claim was taken over/,
  },
  {
    name: "a renewal asks for the claim id alone",
    mutant: onWrite(["renew"], withoutStatus),
    workers: alone,
    budget: { ticks: 1, renewals: 1 },
    finds: /late renew changed a settled record/,
  },
  {
    name: "a completion asks for the claim id alone",
    mutant: onWrite(["complete"], withoutStatus),
    workers: alone,
    budget: { ticks: 1, duplicates: 1 },
    finds: /late complete changed a settled record/,
  },
  {
    name: "a completion asks for nothing, as in the seed",
    mutant: onWrite(["complete"], (write) => ({ ...write, unconditional: true })),
    workers: two,
    budget: { ticks: 2 },
    finds: /stale complete was accepted/,
  },
  {
    name: "a failure is written without asking, as in the seed",
    mutant: onWrite(["fail"], (write) => ({ ...write, unconditional: true })),
    workers: two,
    budget: { ticks: 2, throws: 1 },
    finds: /stale fail was accepted/,
  },
  {
    name: "nobody checks the claim before the tool is entered",
    mutant: { context: (context) => ({ ...context, now: 0 }) },
    workers: alone,
    budget: { ticks: 1 },
    finds: /fire in a claim that had lapsed/,
  },
  {
    name: "the lease is counted from the answer",
    mutant: { machine: (machine, { now }) => resent(machine, now) },
    workers: alone,
    budget: { ticks: 1 },
    finds: /fire in a claim that had lapsed/,
  },
  {
    name: "a lapse is judged by a clock that is one tick fast",
    mutant: { seen: (seen) => ({ ...seen, asOf: seen.asOf + 1000 }) },
    workers: two,
    budget: { ticks: 0 },
    finds: /live claim was taken over/,
  },
  {
    name: "a run does not know its own claim again",
    mutant: {
      seen: (seen, machine) =>
        machine.sent.some((sent) => sent.claimId === seen.record.claim_id)
          ? { ...seen, record: { ...seen.record, claim_id: "somebody" } }
          : seen,
    },
    workers: alone,
    budget: { ticks: 0, lost: 1 },
    finds: /waits for its own claim/,
  },
  {
    name: "a process forgets the claims that it gave up",
    mutant: { context: (context) => ({ ...context, abandoned: () => false }) },
    workers: again,
    budget: { ticks: 0, aborts: 1 },
    finds: /waits for a claim that it gave up/,
  },
  {
    name: "the arguments are not compared",
    mutant: {
      seen: (seen, machine) => ({
        ...seen,
        record: { ...seen.record, fingerprint: machine.acquisition.identity.fingerprint },
      }),
    },
    workers: different,
    budget: { ticks: 0 },
    finds: /other arguments got a replay/,
  },
  {
    name: "a claim without an answer is taken for made",
    mutant: {
      event: (event) => (event.event === "unanswered" ? { event: "written", revision: 1 } : event),
    },
    workers: two,
    budget: { ticks: 0, lost: 1 },
    finds: /does not hold the claim/,
  },
  {
    name: "a refused renewal is taken for granted",
    mutant: {
      event: (event, machine) =>
        event.event === "refused" && machine.stage.at === "preparing" ? { event: "written", revision: 1 } : event,
    },
    workers: two,
    budget: { ticks: 1 },
    finds: /does not hold the claim|claim that had lapsed/,
  },
  {
    name: "every claim is the first attempt",
    mutant: onPut(["claim_again"], () => ({ attempt: 1 })),
    workers: two,
    budget: { ticks: 1 },
    finds: /attempt does not grow/,
  },
  {
    name: "a worker has one claim id for all its claims",
    mutant: { context: (context) => ({ ...context, claimId: context.claimId.slice(0, 1) }) },
    workers: again,
    budget: { ticks: 0, throws: 1 },
    finds: /two fires in one claim/,
  },
  {
    name: "a failure may be tried again at once",
    mutant: onPut(["fail"], () => ({ hold: 0.0001 })),
    workers: two,
    budget: { ticks: 0, throws: 1 },
    finds: /before its time/,
  },
];
