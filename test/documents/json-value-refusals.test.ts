import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "../../src/base/errors.js";
import { defaultLimits } from "../../src/base/limits.js";
import { checkFields, checkJson } from "../../src/documents/json-value.js";
import { expectInvalid, refusal } from "./refusal.js";

const check = (value: unknown) => checkFields(value, "set", defaultLimits);

describe("what JSON cannot say is refused by its path", () => {
  class Money {
    amount = 1;
  }
  class Rows extends Array<number> {}
  class Rootless extends (null as unknown as typeof Object) {}

  const refused: [string, unknown, RegExp][] = [
    ["a function", () => 1, /function/],
    ["a symbol", Symbol("s"), /symbol/],
    ["a small bigint", 5n, /bigint/],
    ["a bigint beyond 64 bits", 2n ** 70n, /bigint/],
    ["NaN", Number.NaN, /finite number, not NaN/],
    ["Infinity", Number.POSITIVE_INFINITY, /finite number, not Infinity/],
    ["-Infinity", Number.NEGATIVE_INFINITY, /finite number, not -Infinity/],
    ["1e400 in a text", JSON.parse("1e400"), /finite/],
    ["2^53", 2 ** 53, /2\^53 - 1/],
    ["-2^53", -(2 ** 53), /2\^53 - 1/],
    ["9007199254740993 in a text", JSON.parse("9007199254740993"), /2\^53 - 1/],
    ["1e300", 1e300, /2\^53 - 1/],
    ["a Date", new Date(0), /instance of Date/],
    ["an invalid Date", new Date(Number.NaN), /instance of Date/],
    ["a Map", new Map([["a", 1]]), /instance of Map/],
    ["a Set", new Set([1]), /instance of Set/],
    ["a RegExp", /q/i, /instance of RegExp/],
    ["a Buffer", Buffer.from("x"), /instance of Buffer/],
    ["a typed array", new Uint8Array(2), /instance of Uint8Array/],
    ["an Error", new Error("x"), /instance of Error/],
    ["a Promise", Promise.resolve(1), /instance of Promise/],
    ["a boxed string", Object("x"), /instance of String/],
    ["an instance of a class", new Money(), /instance of Money/],
    ["an instance of a class without a root", Object.create(Rootless.prototype), /instance of Rootless/],
    ["an array of a class", Rows.from([1]), /class made from Array/],
    ["an array with another prototype", Object.setPrototypeOf([1], {}), /class made from Array/],
    ["an object made from another one", Object.create({ a: 1 }), /instance of a class/],
    ["a Date of another realm", runInNewContext("new Date(0)"), /instance of Date/],
    ["a function named toJSON", { toJSON: () => 1 }, /function/],
    ["a lone high surrogate", "go \ud83d", /lone surrogate/],
    ["a lone low surrogate", "\ude00 go", /lone surrogate/],
    ["a lone surrogate at the end of a long text", `${"x".repeat(70)}\ud83d`, /lone surrogate/],
    ["a pair of surrogates in the wrong order", "\ude00\ud83d", /lone surrogate/],
  ];

  test.each(refused)("%s", (_, value, problem) => {
    const place = typeof value === "object" && value !== null && "toJSON" in value && !(value instanceof Date);
    const suffix = place && Object.hasOwn(value, "toJSON") ? ".toJSON" : "";
    expectInvalid(() => check({ bad: value }), `set.bad${suffix}`, problem);
    expectInvalid(() => check({ items: [1, { price: value }] }), `set.items[1].price${suffix}`, problem);
    expectInvalid(() => check({ "odd name": value }), `set["odd name"]${suffix}`, problem);
    expectInvalid(() => checkJson(value, "result", defaultLimits), `result${suffix}`, problem);
  });

  test("undefined in an array and alone", () => {
    expectInvalid(() => check({ list: [1, undefined, 3] }), "set.list[1]", /undefined/);
    expectInvalid(() => checkJson(undefined, "result", defaultLimits), "result", /undefined/);
  });

  test("a hole in an array, also in an enormous one", () => {
    const holed = [1, 2, 3];
    delete holed[1];
    expectInvalid(() => check({ list: holed }), "set.list[1]", /hole/);
    expectInvalid(() => check({ list: new Array(2 ** 32 - 1) }), "set.list[0]", /hole/);
  });

  test("a named member of an array, which JSON would lose", () => {
    expectInvalid(() => check({ match: "xay".match(/a/) }), "set.match.index", /named member of an array/);
    const holed = Object.assign([1, 2, 3], { total: 6 });
    delete holed[2];
    expectInvalid(() => check({ list: holed }), "set.list[2]", /undefined/);
  });

  test("a member named by a symbol", () => {
    expectInvalid(() => check({ in: { [Symbol("mark")]: 1 } }), "set.in", /Symbol\(mark\)/);
    expectInvalid(() => check({ list: Object.assign([1], { [Symbol("mark")]: 1 }) }), "set.list", /Symbol\(mark\)/);
  });

  test("an own member named __proto__, at the top and below", () => {
    expectInvalid(() => check(JSON.parse('{"__proto__":{"k":1},"m":2}')), "set.__proto__", /not allowed as a name/);
    expectInvalid(() => check(JSON.parse('{"in":[{"__proto__":1}]}')), "set.in[0].__proto__", /not allowed/);
  });

  test("a name with a lone surrogate", () => {
    expectInvalid(() => check({ "a\ud83d": 1 }), 'set["a\\ud83d"]', /lone surrogate/);
  });

  test("fields that are no object", () => {
    for (const value of [null, undefined, 1, "text", true, [], [1], () => 1, new Map(), 1n, Symbol("s")]) {
      expect(refusal(() => check(value))).toMatchObject({ code: "invalid_request", path: "set" });
    }
    expectInvalid(() => check([1]), "set", /must be an object, not an array/);
    expectInvalid(() => check(null), "set", /must be an object, not null/);
  });

  test("a getter that throws, with what it threw as the cause", () => {
    const cause = new Error("no");
    const value = {
      in: {
        get broken(): never {
          throw cause;
        },
      },
    };
    const error = refusal(() => check(value));
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({ path: "set.in", cause });
  });

  test("a proxy that was revoked", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(refusal(() => check({ in: proxy }))).toMatchObject({ code: "invalid_request", path: "set.in" });
    expect(refusal(() => check(proxy))).toMatchObject({ code: "invalid_request", path: "set" });
  });
});
