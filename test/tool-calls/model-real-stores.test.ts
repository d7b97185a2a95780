import { describe, it } from "vitest";
import { runAtRandom } from "./model-at-random.js";

describe("workers that crash, lose answers and come late, with all policies, marks and an operator, keep the promises", () => {
  it("over a store in memory", () => runAtRandom("memory", { numRuns: 60, events: 40, timeLimitMs: 2500 }));

  it("over a store on disk", () => runAtRandom("disk", { numRuns: 20, events: 40, timeLimitMs: 2500 }));

  it("over HTTP", () => runAtRandom("http", { numRuns: 20, events: 40, timeLimitMs: 2500 }));
});
