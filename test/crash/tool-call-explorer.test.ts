import { describe, expect, it } from "vitest";
import { type Exploration, explore, large, type Workload } from "../tool-calls/explorer.js";

const one: Workload = { args: "x", calls: 1 };
const twice: Workload = { args: "x", calls: 2 };
const other: Workload = { args: "y", calls: 1 };
const review: Workload = { ...one, policy: "review" };
const marking: Workload = { ...review, marks: true };
const reconcile: Workload = { ...one, policy: "reconcile" };
const reconciler: Workload = { ...reconcile, calls: 0, rounds: 1 };

/** The short form's explorations with more faults at once, with a lease that can be renewed in time, and with three workers. */
const explorations: readonly (Exploration & { readonly name: string })[] = [
  { name: "leases that are renewed in time", lengths: large, workers: [one, one], budget: { ticks: 4, renewals: 1 } },
  { name: "lost answers", workers: [one, one], budget: { ticks: 2, lost: 1 } },
  { name: "two lost answers", workers: [one, one], budget: { ticks: 1, lost: 2 } },
  { name: "a lost answer and a late copy", workers: [one, one], budget: { ticks: 1, lost: 1, duplicates: 1 } },
  { name: "late copies over a whole window", workers: [one, one], budget: { ticks: 2, duplicates: 1 } },
  { name: "a crash and a lost answer", workers: [twice, one], budget: { ticks: 1, crashes: 1, lost: 1 } },
  { name: "a crash and lapses", workers: [twice, one], budget: { ticks: 2, crashes: 1 } },
  { name: "callers that give up, and lost answers", workers: [twice, one], budget: { ticks: 0, aborts: 1, lost: 1 } },
  { name: "throws and late copies", workers: [one, one], budget: { ticks: 1, throws: 1, duplicates: 1 } },
  { name: "throws and a crash", workers: [twice, one], budget: { ticks: 1, throws: 1, crashes: 1 } },
  { name: "renewals and late copies", workers: [one, one], budget: { ticks: 1, duplicates: 1, renewals: 1 } },
  { name: "other arguments and a crash", workers: [one, other], budget: { ticks: 3, crashes: 1, throws: 1 } },
  { name: "three workers", workers: [one, one, other], budget: { ticks: 2 } },
];

const policies: readonly (Exploration & { readonly name: string })[] = [
  {
    name: "review: lapses, throws and an operator",
    workers: [review, review],
    budget: { ticks: 2, throws: 1, resolves: 1 },
  },
  {
    name: "review: two words of an operator, one hasty",
    workers: [review, review],
    budget: { ticks: 1, resolves: 2, pauses: 1 },
  },
  {
    name: "review: renewals beside an operator",
    workers: [review, review],
    budget: { ticks: 1, renewals: 1, resolves: 1 },
  },
  {
    name: "review: late copies beside an operator who forgets",
    workers: [review, review],
    budget: { ticks: 1, throws: 1, duplicates: 1, forgets: 1 },
  },
  {
    name: "review: a crash and an operator",
    workers: [{ ...review, calls: 2 }, review],
    budget: { ticks: 1, crashes: 1, resolves: 1 },
  },
  {
    name: "review: three workers, other policies and arguments",
    workers: [review, one, { ...review, args: "y" }],
    budget: { ticks: 1 },
  },
  { name: "marks: crashes and lapses", workers: [{ ...marking, calls: 2 }, marking], budget: { ticks: 1, crashes: 1 } },
  { name: "marks: lost answers and lapses", workers: [marking, marking], budget: { ticks: 1, lost: 1 } },
  {
    name: "marks: a lost answer and an operator",
    workers: [{ ...marking, calls: 2 }],
    budget: { ticks: 1, lost: 1, resolves: 1 },
  },
  { name: "marks: three workers", workers: [marking, marking, review], budget: { ticks: 1 } },
  {
    name: "marks: parks, lapses and an operator",
    workers: [marking, marking],
    budget: { ticks: 1, parks: 1, resolves: 1 },
  },
  {
    name: "reconcile: lost answers and lapses",
    workers: [reconcile, reconcile],
    doubt: "done",
    budget: { ticks: 1, lost: 1 },
  },
  {
    name: "reconcile: lapses, throws and a hasty word",
    workers: [reconcile, reconcile],
    budget: { ticks: 1, throws: 1, pauses: 1 },
  },
  {
    name: "reconcile: a reconciler and lost answers",
    workers: [reconcile, reconciler],
    doubt: "not done",
    budget: { ticks: 1, lost: 1 },
  },
  {
    name: "reconcile: late copies and lapses",
    workers: [{ ...reconcile, calls: 2 }],
    doubt: "not done",
    budget: { ticks: 1, duplicates: 1, throws: 1 },
  },
  {
    name: "reconcile: a crash",
    workers: [reconcile, reconcile],
    doubt: "not done",
    budget: { ticks: 0, crashes: 1, throws: 1 },
  },
  {
    name: "reconcile: an operator beside a reconciler",
    workers: [reconcile, reconciler],
    doubt: "not done",
    budget: { ticks: 1, resolves: 1 },
  },
  {
    name: "reconcile: three workers",
    workers: [reconcile, reconcile, reconciler],
    doubt: "not done",
    budget: { ticks: 0 },
  },
  {
    name: "plans, parks and what is forgotten",
    workers: [review, one],
    budget: { ticks: 0, plans: 1, parks: 1, forgets: 1 },
  },
  { name: "tools that never end", workers: [one, one], budget: { ticks: 2, hangs: 1, throws: 1 } },
];

describe("every interleaving keeps the protocol's promises, at length,", () => {
  it.each([...explorations, ...policies])("with $name", ({ name: _, ...exploration }) => {
    const { states, violation } = explore({ ...exploration, statesMax: 1_000_000 });
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(2_000);
  });
});
