import { describe, expect, it } from "vitest";
import { type Exploration, explore, type Workload } from "./explorer.js";
import { policyMutants } from "./explorer-policy-mutants.js";

const one: Workload = { args: "x", calls: 1 };
const review: Workload = { ...one, policy: "review" };
const reviewTwice: Workload = { ...review, calls: 2 };
const marking: Workload = { ...review, marks: true };
const reconcile: Workload = { ...one, policy: "reconcile" };
const reconcileTwice: Workload = { ...reconcile, calls: 2 };
const reconciler: Workload = { ...reconcile, calls: 0, rounds: 1 };

const explorations: readonly (Exploration & { readonly name: string })[] = [
  { name: "review: claims that lapse, and an operator", workers: [review, review], budget: { ticks: 1, resolves: 1 } },
  {
    name: "review: throws, and an operator",
    workers: [reviewTwice, review],
    budget: { ticks: 0, throws: 1, resolves: 1 },
  },
  { name: "review: an operator who is hasty", workers: [review, review], budget: { ticks: 1, resolves: 1, pauses: 1 } },
  { name: "review: a crash and an operator", workers: [reviewTwice], budget: { ticks: 1, crashes: 1, resolves: 1 } },
  { name: "review: a crash beside another", workers: [reviewTwice, review], budget: { ticks: 0, crashes: 1 } },
  { name: "review: a renewal beside an operator", workers: [review], budget: { ticks: 1, renewals: 1, resolves: 1 } },
  { name: "review: lost answers", workers: [review, review], budget: { ticks: 1, lost: 1 } },
  {
    name: "review: late copies beside an operator",
    workers: [review, review],
    budget: { ticks: 1, duplicates: 1, resolves: 1 },
  },
  { name: "review: a decreed failure and time", workers: [reviewTwice], budget: { ticks: 2, throws: 1, resolves: 1 } },
  {
    name: "review: a record that is forgotten",
    workers: [review, review],
    budget: { ticks: 1, throws: 1, forgets: 1 },
  },
  { name: "review: a finder with another policy", workers: [review, one], budget: { ticks: 1, throws: 1 } },
  { name: "marks: claims that lapse", workers: [marking, marking], budget: { ticks: 1 } },
  {
    name: "marks: a crash at any step",
    workers: [{ ...marking, calls: 2 }, marking],
    budget: { ticks: 0, crashes: 1 },
  },
  { name: "marks: a lost answer", workers: [marking, marking], budget: { ticks: 0, lost: 1 } },
  { name: "marks: a lost answer and a lapse", workers: [{ ...marking, calls: 2 }], budget: { ticks: 1, lost: 1 } },
  { name: "marks: late copies", workers: [marking, marking], budget: { ticks: 1, duplicates: 1 } },
  { name: "marks: a renewal beside the mark", workers: [{ ...marking, calls: 2 }], budget: { ticks: 2, renewals: 1 } },
  { name: "marks: throws before and after the mark", workers: [marking, marking], budget: { ticks: 1, throws: 1 } },
  {
    name: "marks: under refire",
    workers: [
      { ...one, marks: true },
      { ...one, marks: true },
    ],
    budget: { ticks: 1, throws: 1 },
  },
  { name: "marks: a finder that does not mark", workers: [marking, review], budget: { ticks: 0, lost: 1 } },
  {
    name: "marks: a caller that gives up and calls again",
    workers: [marking, reviewTwice],
    budget: { ticks: 0, aborts: 1, parks: 1 },
  },
  {
    name: "reconcile: a doubt, and a look-up that lapses",
    workers: [reconcile, reconcile],
    doubt: "not done",
    budget: { ticks: 1 },
  },
  {
    name: "reconcile: a doubt about what was done",
    workers: [reconcile, reconcile],
    doubt: "done",
    budget: { ticks: 0, lost: 1 },
  },
  { name: "reconcile: claims that lapse", workers: [reconcile, reconcile], budget: { ticks: 1 } },
  { name: "reconcile: throws", workers: [reconcile, reconcile], budget: { ticks: 1, throws: 1 } },
  { name: "reconcile: a hasty word", workers: [reconcile, reconcile], budget: { ticks: 1, pauses: 1 } },
  { name: "reconcile: lost answers", workers: [reconcile], doubt: "not done", budget: { ticks: 1, lost: 2 } },
  {
    name: "reconcile: late copies",
    workers: [reconcile, reconcile],
    doubt: "not done",
    budget: { ticks: 0, duplicates: 1 },
  },
  { name: "reconcile: a crash", workers: [reconcileTwice], doubt: "not done", budget: { ticks: 1, crashes: 1 } },
  {
    name: "reconcile: a caller that gives up and calls again",
    workers: [reconcileTwice],
    doubt: "done",
    budget: { ticks: 0, aborts: 1, lost: 1 },
  },
  {
    name: "reconcile: a reconciler",
    workers: [reconcile, reconciler],
    doubt: "not done",
    budget: { ticks: 0, lost: 1 },
  },
  {
    name: "reconcile: a caller without a look-up beside a reconciler",
    workers: [{ ...reconcile, looksUp: false, calls: 2 }, reconciler],
    budget: { ticks: 1, throws: 1 },
  },
  {
    name: "reconcile: an operator beside a look-up",
    workers: [reconcile, reconciler],
    doubt: "not done",
    budget: { ticks: 0, resolves: 1, forgets: 1 },
  },
  {
    name: "reconcile with marks",
    workers: [
      { ...reconcile, marks: true },
      { ...reconcile, marks: true },
    ],
    budget: { ticks: 1 },
  },
  { name: "parks and an operator", workers: [reviewTwice, one], budget: { ticks: 0, parks: 1, resolves: 1 } },
  { name: "parks of a tool that marks", workers: [marking, marking], budget: { ticks: 1, parks: 1 } },
  {
    name: "parks that come after the mark",
    workers: [{ ...marking, calls: 2 }, marking],
    mutant: { parksLate: true },
    budget: { ticks: 0, parks: 1 },
  },
  { name: "plans", workers: [review, { ...review, args: "y" }], budget: { ticks: 1, plans: 1, throws: 1 } },
  { name: "plans and what is forgotten", workers: [one], budget: { ticks: 2, plans: 1, forgets: 1 } },
  { name: "tools that never end", workers: [one, one], budget: { ticks: 2, hangs: 1 } },
  { name: "tools that never end under review", workers: [review, review], budget: { ticks: 1, hangs: 1, resolves: 1 } },
];

describe("every interleaving keeps what the policies promise", () => {
  it.each(explorations)("with $name", ({ name: _, ...exploration }) => {
    const { states, violation } = explore({ ...exploration, statesMax: 200_000 });
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(100);
  });
});

describe("the explorer finds a violation when", () => {
  it.each(policyMutants)("$name", ({ finds, ...exploration }) => {
    const { violation } = explore(exploration);
    expect(violation?.message).toMatch(finds);
  });
});
