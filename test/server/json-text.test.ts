import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonFault } from "../../server/json-fault.js";
import { parseJsonObject } from "../../server/json-text.js";
import { InvalidRequestError, TooLargeError } from "../../src/base/errors.js";

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

test("nesting of a million levels is refused before anything is made of it", () => {
  for (const [opening, closing] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    const text = `{"a":${opening.repeat(1e6)}1${closing.repeat(1e6)}}`;
    expect(() => read(text)).toThrow("the text is nested deeper than 1000 levels at byte");
  }
  expect(read(`{"a":${"[".repeat(999)}${"]".repeat(999)}}`)).toHaveProperty("a");
});

test("more values than are allowed are refused before anything is made of them, and as many are not", () => {
  const many = (count: number) => Buffer.from(`{"a":[${Array(count).fill("{}").join(" , ")}]}`);
  expect(parseJsonObject(many(98), "the text", { valuesMax: 99 })).toHaveProperty("a");
  expect(() => parseJsonObject(many(99), "the text", { valuesMax: 99 })).toThrow(TooLargeError);
  // Neither what is empty nor what stands in a string is a value.
  expect(parseJsonObject(Buffer.from('{"a,[{b":"[,{,","c":[ \n ]}'), "the text", { valuesMax: 2 })).toHaveProperty("c");
});

test.each([
  ['{"a":1', "it ends too early, at byte 6"],
  ["", "it ends too early, at byte 0"],
  ['{"a":"secret', "it ends too early, at byte 12"],
  ["{x}", "a name in double quotes is expected at byte 1"],
  ["{'a':1}", "a name in double quotes is expected at byte 1"],
  ['{"é":1,}', "a name in double quotes is expected at byte 8"],
  ['{"a":01}', "a comma or } is expected at byte 6"],
  ['{"a":[1 2]}', "a comma or ] is expected at byte 8"],
  ['{"a":"\u0001"}', "a string has a control character at byte 6"],
  ['{"a":"\n"}', "a string has a control character at byte 6"],
  ['{"a":"\\x41"}', "a string has a wrong escape at byte 6"],
  ['{"a":"\\u12g4"}', "a string has a wrong escape at byte 6"],
  ['{"a":secret}', "a value is expected at byte 5"],
  ['{"a":[1,2,3,]}', "a value is expected at byte 12"],
  ['{"a":+1}', "a value is expected at byte 5"],
  ['{"a":1.}', "a digit is expected at byte 7"],
  ['{"a":1e}', "a digit is expected at byte 7"],
  ['{"a":-}', "a digit is expected at byte 6"],
  ['{"a" 1}', "a colon is expected at byte 5"],
  ['{"a":1}secret', "nothing more is expected at byte 7"],
  ["\ufeff{}", "a value is expected at byte 0"],
])("%j is refused with the place of its fault, and nothing of it is shown", (text, problem) => {
  expect(messageOf(text)).toBe(`the text is not JSON: ${problem}`);
});

test("whatever the parser refuses has a fault that is found, and what it takes has none", () => {
  const piece = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "a",
    '"a":',
    "1",
    "-",
    ".",
    "e5",
    " ",
    "true",
    "nul",
    "\n",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join("");
      const isJson = isParsed(text);
      // At the end of a valid text the next thing that is missing is the end itself.
      if (isJson) expect(jsonFault(text)).toBe(`it ends too early, at byte ${text.length}`);
      else expect(isParsed(text.slice(0, placeIn(jsonFault(text))))).toBe(/^nothing more/.test(jsonFault(text)));
    }),
    { numRuns: 2000 },
  );
});

test("the place of bytes that are not UTF-8 is where the character begins", () => {
  for (const count of [0, 1, 2, 3, 10, 1000, 4097]) {
    const before = Buffer.from("aé€\u{1f600}".repeat(count));
    for (const broken of [
      [0xff],
      [0xc3],
      [0xe2, 0x82],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0x80],
      [0xc0, 0x80],
    ]) {
      for (const after of ["", "a", "é".repeat(100)]) {
        const text = Buffer.concat([before, Buffer.from(broken), Buffer.from(after)]);
        expect(() => parseJsonObject(text, "the text")).toThrow(
          new InvalidRequestError("", `the text is not well-formed UTF-8 at byte ${before.length}`),
        );
      }
    }
  }
});

test("a long name that is there twice is shown in part only, with its place", () => {
  const name = "n".repeat(100_000);
  const message = messageOf(`{"a":{"${name}":1,"${name}"   \n\t  ${" ".repeat(3000)}:2}}`);
  expect(message).toBe(
    `the text names "${"n".repeat(128)}"... twice in one object, again at byte ${6 + name.length + 5}`,
  );
});

function messageOf(text: string): string {
  try {
    read(text);
  } catch (error) {
    return error instanceof InvalidRequestError ? error.message : `another error: ${String(error)}`;
  }
  return "it was read";
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function placeIn(fault: string): number {
  return Number(/\d+$/.exec(fault)?.[0]);
}
