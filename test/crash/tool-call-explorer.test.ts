import { describe, expect, it } from "vitest";
import { type Exploration, explore, large } from "../tool-calls/explorer.js";

const one = { args: "x", calls: 1 };
const twice = { args: "x", calls: 2 };
const other = { args: "y", calls: 1 };

/** The short form's explorations with more faults at once, with a lease that can be renewed in time, and with three workers. */
const explorations: readonly (Exploration & { readonly name: string })[] = [
  { name: "leases that are renewed in time", lengths: large, workers: [one, one], budget: { ticks: 4, renewals: 1 } },
  { name: "lost answers", workers: [one, one], budget: { ticks: 2, lost: 1 } },
  { name: "two lost answers", workers: [one, one], budget: { ticks: 1, lost: 2 } },
  { name: "a lost answer and a late copy", workers: [one, one], budget: { ticks: 1, lost: 1, duplicates: 1 } },
  { name: "late copies over a whole window", workers: [one, one], budget: { ticks: 3, duplicates: 1 } },
  { name: "a crash and a lost answer", workers: [twice, one], budget: { ticks: 1, crashes: 1, lost: 1 } },
  { name: "a crash and lapses", workers: [twice, one], budget: { ticks: 2, crashes: 1 } },
  { name: "callers that give up, and lost answers", workers: [twice, one], budget: { ticks: 0, aborts: 1, lost: 1 } },
  { name: "throws and late copies", workers: [one, one], budget: { ticks: 2, throws: 1, duplicates: 1 } },
  { name: "throws and a crash", workers: [twice, one], budget: { ticks: 1, throws: 1, crashes: 1 } },
  { name: "renewals and late copies", workers: [one, one], budget: { ticks: 2, duplicates: 1, renewals: 1 } },
  { name: "other arguments and a crash", workers: [one, other], budget: { ticks: 3, crashes: 1, throws: 1 } },
  { name: "three workers", workers: [one, one, other], budget: { ticks: 2 } },
];

describe("every interleaving keeps the protocol's promises, at length,", () => {
  it.each(explorations)("with $name", ({ name: _, ...exploration }) => {
    const { states, violation } = explore({ ...exploration, statesMax: 1_000_000 });
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(10_000);
  });
});
