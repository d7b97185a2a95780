import { describe, expect, it } from "vitest";
import { journalOf, problemWithEnd, problemWithStep } from "../../src/saga/journal.js";
import type { ToolCallDocument } from "../../src/tool-calls/index.js";
import { held } from "../tool-calls/sample-records.js";

function part(saga_part: "step" | "compensation", position: number, tool: string): ToolCallDocument {
  const at = "2026-01-01T00:00:00.000Z";
  return {
    shape: "tool-call",
    id: `saga/${tool}:${saga_part}`,
    fields: { ...held().record, tool, extra: { saga_part, position } },
    revision: 1,
    created_revision: 1,
    created_at: at,
    updated_at: at,
    expires_at: null,
    as_of: at,
    lease_expires_at: null,
  };
}

const steps = [part("step", 1, "b"), part("step", 0, "a")];

describe("the journal of a saga", () => {
  it("is in the order of the steps, whatever the order of their keys, and passes over calls that are no parts", () => {
    const other = { ...part("step", 5, "x"), fields: held().record };
    expect(journalOf("saga", [...steps, other])).toEqual({ names: ["a", "b"], compensating: false });
    expect(journalOf("saga", [...steps, part("compensation", 1, "b.compensation")]).compensating).toBe(true);
  });

  it("is refused when a record is missing in it, since its step could be fired again", () => {
    expect(() => journalOf("saga", [part("step", 2, "c"), ...steps.slice(1)])).toThrow(
      expect.objectContaining({ code: "needs_review", message: expect.stringContaining("step 2 is gone") }),
    );
  });

  it("is refused when two bodies have written it", () => {
    expect(() => journalOf("saga", [...steps, part("step", 1, "c")])).toThrow(
      expect.objectContaining({ name: "SagaDivergedError" }),
    );
  });
});

describe("a body is held against it", () => {
  const journal = { names: ["a", "b"], compensating: false };
  const compensating = { ...journal, compensating: true };

  it.each([
    [journal, 0, "a", undefined],
    [journal, 2, "c", undefined],
    [journal, 1, "c", 'was "b" and is now "c"'],
    [journal, 2, "a", "comes later"],
    [compensating, 1, "b", undefined],
    [compensating, 2, "c", "one more step"],
  ])("at each step: %j, step %i %s", (given, position, name, problem) => {
    const found = problemWithStep(given, position, name);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });

  it.each([
    [journal, 2, false, undefined],
    [journal, 3, true, undefined],
    [journal, 1, true, 'step 2, "b"'],
    [compensating, 2, true, undefined],
    [compensating, 2, false, "ends well"],
  ])("and at its end: %j after %i steps, failed: %s", (given, count, failed, problem) => {
    const found = problemWithEnd(given, count, failed);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });
});
