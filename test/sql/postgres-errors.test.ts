import { describe, expect, it } from "vitest";
import { lostToAnother, sqlStateOf, surelyNotCommitted } from "../../src/sql/postgres-errors.js";

function withCode(code: unknown, cause?: unknown): Error {
  return Object.assign(new Error("refused", { cause }), { code });
}

describe("an error of PostgreSQL", () => {
  it("has an SQLSTATE, and errors of a connection have none", () => {
    expect(sqlStateOf(withCode("40001"))).toBe("40001");
    expect(sqlStateOf(withCode("ECONNRESET"))).toBeUndefined();
    expect(sqlStateOf(withCode(40001))).toBeUndefined();
    expect(sqlStateOf(new Error("no code"))).toBeUndefined();
    expect(sqlStateOf(null)).toBeUndefined();
    expect(sqlStateOf("40001")).toBeUndefined();
  });

  it.each(["40001", "40P01"])("is lost to another transaction with %s, also as a cause", (code) => {
    expect(lostToAnother(withCode(code))).toBe(true);
    expect(lostToAnother(new Error("mapped", { cause: new Error("again", { cause: withCode(code) }) }))).toBe(true);
  });

  it("is not lost to another transaction for any other reason, and causes may go round in a circle", () => {
    const circle: Error & { cause?: unknown } = withCode("23505");
    circle.cause = circle;
    expect(lostToAnother(circle)).toBe(false);
    expect(lostToAnother(undefined)).toBe(false);
  });

  it.each(["40001", "40P01", "23503", "23505", "P0001", "25P02", "22012"])(
    "says with %s that nothing is committed",
    (code) => {
      expect(surelyNotCommitted(withCode(code))).toBe(true);
    },
  );

  it.each([
    "57P01",
    "57P02",
    "57P03",
    "57014",
    "08006",
    "08007",
    "40003",
    "53100",
    "58030",
    "XX000",
    "ECONNRESET",
    undefined,
  ])("leaves open with %s whether something is committed", (code) => {
    expect(surelyNotCommitted(withCode(code))).toBe(false);
  });
});
