import { describe, expect, it } from "vitest";
import { type Exploration, explore } from "./explorer.js";
import { mutants } from "./explorer-mutants.js";

const same = [
  { args: "x", calls: 1 },
  { args: "x", calls: 1 },
];
const restarted = [
  { args: "x", calls: 2 },
  { args: "x", calls: 1 },
];
const different = [
  { args: "x", calls: 1 },
  { args: "y", calls: 1 },
];

const explorations: readonly (Exploration & { readonly name: string })[] = [
  { name: "two workers whose claims lapse", workers: same, budget: { ticks: 3 } },
  { name: "a holder that renews", workers: same, budget: { ticks: 2, renewals: 1 } },
  { name: "an answer or a request that is lost", workers: same, budget: { ticks: 1, lost: 1 } },
  { name: "late copies", workers: same, budget: { ticks: 1, duplicates: 1 } },
  { name: "a crash at any step and a new start", workers: restarted, budget: { ticks: 1, crashes: 1 } },
  { name: "callers that give up and call again", workers: restarted, budget: { ticks: 1, aborts: 1 } },
  { name: "tools that throw", workers: same, budget: { ticks: 2, throws: 1 } },
  { name: "other arguments under the same key", workers: different, budget: { ticks: 3, throws: 1 } },
];

describe("every interleaving of two workers keeps the protocol's promises", () => {
  it.each(explorations)("with $name", (exploration) => {
    const { states, violation } = explore(exploration);
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(500);
  });
});

describe("the explorer finds a violation when", () => {
  it.each(mutants)("$name", ({ finds, ...exploration }) => {
    const { violation } = explore(exploration);
    expect(violation?.message).toMatch(finds);
  });
});
