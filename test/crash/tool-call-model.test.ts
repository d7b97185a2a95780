import { describe, it } from "vitest";
import { runAtRandom } from "../tool-calls/model-at-random.js";

describe("workers over real stores keep the promises, at length,", () => {
  it("in memory", () => runAtRandom("memory", { numRuns: 1000, events: 60, timeLimitMs: 8_000 }));

  it("on disk", () => runAtRandom("disk", { numRuns: 200, events: 60, timeLimitMs: 4_000 }));

  it("over HTTP", () => runAtRandom("http", { numRuns: 200, events: 60, timeLimitMs: 6_000 }));
});
