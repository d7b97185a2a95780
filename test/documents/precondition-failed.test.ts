import { describe, expect, it } from "vitest";
import { OnceKvError } from "../../src/base/errors.js";
import { PreconditionFailedError } from "../../src/documents/precondition-failed.js";

const failure = { index: 0, shape: "note", id: 'a"b', expected: { exists: false }, current: null } as const;

describe("the error of a condition that does not hold", () => {
  it("names the document, and how many more there are", () => {
    expect(new PreconditionFailedError([failure]).message).toBe('the condition does not hold for note/"a\\"b"');
    expect(new PreconditionFailedError([failure, failure, failure]).message).toContain('note/"a\\"b" and 2 more');
  });

  it("has no stack trace, and leaves those of other errors alone", () => {
    const limit = Error.stackTraceLimit;
    const error = new PreconditionFailedError([failure]);
    expect(error.stack).toBe(`PreconditionFailedError: ${error.message}`);
    expect(Error.stackTraceLimit).toBe(limit);
    expect(new OnceKvError("not_found", "nothing").stack).toContain("precondition-failed.test.ts");
  });
});
