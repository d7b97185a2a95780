import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../src/base/errors.js";
import { defaultLimits } from "../../src/base/limits.js";
import {
  type CallOptions,
  resolveCallOptions,
  resolveOptions,
  type ToolCallsOptions,
} from "../../src/tool-calls/options.js";
import { openScene } from "./scene.js";

describe("the options", () => {
  it("have the defaults of an hour's window and five minutes' lease", () => {
    const { call, shape } = resolveOptions({}, defaultLimits);
    expect(shape).toBe("tool-call");
    expect(resolveCallOptions(call, {}, defaultLimits)).toMatchObject({
      timing: { pendingTtl: 300, completedTtl: 3600, failedTtl: 300 },
      waitTimeout: 30,
      maxRunTime: 3600,
    });
  });

  it("of a call come before the common ones, and undefined is absent", () => {
    const { call } = resolveOptions({ pendingTtl: 60, maxRunTime: 90 }, defaultLimits);
    const settings = resolveCallOptions(call, { pendingTtl: 10, maxRunTime: undefined }, defaultLimits);
    expect(settings).toMatchObject({ timing: { pendingTtl: 10 }, maxRunTime: 90 });
  });

  const refused: readonly [string, object][] = [
    ["a window shorter than the lease", { pendingTtl: 10, completedTtl: 9, failedTtl: 1, waitTimeout: 1 }],
    ["a window shorter than a failure is kept", { pendingTtl: 1, completedTtl: 9, failedTtl: 10, waitTimeout: 1 }],
    ["a window shorter than the wait", { pendingTtl: 1, completedTtl: 9, failedTtl: 1, waitTimeout: 10 }],
    ["a window that cannot be stored", { completedTtl: 315_360_000 }],
    ["zero", { pendingTtl: 0 }],
    ["a negative number", { failedTtl: -1 }],
    ["not a number", { completedTtl: Number.NaN }],
    ["a text", { waitTimeout: "30" }],
    ["no bound on a tool's time", { maxRunTime: Infinity }],
    ["an option that does not exist", { pendingTTL: 60 }],
    ["a policy that there is not", { policy: "retry" }],
    ["a shape that no store takes", { shape: "Tool Call" }],
    ["a classifier that is no function", { classify: "failed" }],
    ["an owner that is no text", { owner: 7 }],
  ];

  it.each(refused)("are refused with %s", (_, options) => {
    expect(() => resolveOptions(options as ToolCallsOptions, defaultLimits)).toThrow(InvalidRequestError);
  });

  it("of calls to come are judged together with the common ones", async () => {
    const { calls } = (await openScene()).worker("A");
    expect(() => calls.checkOptions({ pendingTtl: 60, waitTimeout: 0 })).not.toThrow();
    for (const bad of [{ pendingTtl: -1 }, { completedTtl: 1 }, { policy: "retry" }, { owner: "ann" }]) {
      expect(() => calls.checkOptions(bad as CallOptions)).toThrow(InvalidRequestError);
    }
  });

  it("tell the window of calls that bring none of their own", async () => {
    const { worker } = await openScene();
    expect(worker("A").calls.completedTtl).toBe(3600);
    expect(worker("B", { completedTtl: 86_400 }).calls.completedTtl).toBe(86_400);
  });

  it("may be exactly equal, and need not wait", () => {
    const equal = { pendingTtl: 5, completedTtl: 5, failedTtl: 5, waitTimeout: 5 };
    expect(resolveCallOptions(equal, {}, defaultLimits).timing.completedTtl).toBe(5);
    expect(resolveCallOptions(equal, { waitTimeout: 0 }, defaultLimits).waitTimeout).toBe(0);
  });
});
