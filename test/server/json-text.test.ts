import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJsonObject } from "../../server/json-text.js";
import { InvalidRequestError } from "../../src/base/errors.js";

function read(text: string): object {
  return parseJsonObject(Buffer.from(text), "the text");
}

test("whatever JSON.stringify writes of an object is read back as it was", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), (value) => {
      const text = JSON.stringify(value);
      expect(read(text)).toEqual(JSON.parse(text));
    }),
  );
});

test("colons, quotes and backslashes inside strings are not mistaken for members", () => {
  for (const text of [
    '{"a:b":"c:d\\":","e\\\\":"\\\\\\":"}',
    '{"\\"":1,"\\\\":[{"a":":"},{"a":":"}]}',
    '{ "a" : { "a" : { "a" : [ "a" , ":" ] } } }',
    "{}",
    '{"":""}',
  ]) {
    expect(read(text)).toEqual(JSON.parse(text));
  }
});

test.each([
  ['{"a":1,"a":1}', "a"],
  ['{"b":{"x":[{"a":1},{"c":1, "c" :2}]}}', "c"],
  ['{"a":1,"\\u0061":2}', "a"],
  ['{"__proto__":1,"__proto__":2}', "__proto__"],
  ['{"a\\"b":1,"a\\"b":2}', 'a"b'],
])("%s is refused for naming %s twice", (text, name) => {
  expect(() => read(text)).toThrow(`the text names ${JSON.stringify(name)} twice in one object`);
});

test("the same name in two objects is no repetition", () => {
  expect(read('{"a":{"a":1},"b":[{"a":1},{"a":2}]}')).toEqual({ a: { a: 1 }, b: [{ a: 1 }, { a: 2 }] });
});

test.each([
  "",
  " ",
  "null",
  "1",
  '"text"',
  "[]",
  "{",
  "{'a':1}",
  '{"a":undefined}',
  '{"a":1}x',
  '{"a":01}',
  '{"a":1,}',
])("%j is refused", (text) => {
  expect(() => read(text)).toThrow(InvalidRequestError);
});

test("an own __proto__ stays an own member and changes no prototype", () => {
  const value = read('{"__proto__":{"admin":true}}');
  expect(Object.hasOwn(value, "__proto__")).toBe(true);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect("admin" in value).toBe(false);
});

test("nesting of a million levels is read without a crash", () => {
  expect(read(`{"a":${"[".repeat(1e6)}${"]".repeat(1e6)}}`)).toHaveProperty("a");
});
