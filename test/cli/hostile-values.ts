import type { Option } from "commander";
import { parseShapes } from "../../cli/option-values.js";

/** Texts that no JSON object of a document may be, each with a word for what is wrong with it. */
export const hostileJson: { readonly [fault: string]: string | Buffer } = {
  empty: "",
  "not closed": '{"a":1',
  "a list": "[]",
  null: "null",
  "a number": "1",
  "a text": '"x"',
  "two values": '{"a":1} {"b":2}',
  "a byte order mark": "\ufeff{}",
  "single quotes": "{'a':1}",
  "not a number": '{"a":NaN}',
  "a name twice": '{"a":1,"a":2}',
  "a name twice, escaped": '{"a":1,"\\u0061":2}',
  "a name twice, deep": '{"a":[{"b":1,"b":1}]}',
  "a huge number": '{"a":1e999}',
  "an integer that is not exact": '{"a":9007199254740993}',
  "a lone surrogate": '{"a":"\\ud800"}',
  "a lone surrogate in a name": '{"\\udc00":1}',
  "a prototype": '{"__proto__":{"a":1}}',
  "a prototype, deep": '{"a":[{"__proto__":1}]}',
  "nested too deep": `${'{"a":'.repeat(100)}1${"}".repeat(100)}`,
  "nested far too deep": `${"[".repeat(200_000)}${"]".repeat(200_000)}`,
  "a bare control character": '{"a":"\u0001"}',
  "not UTF-8": Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  "half a character": Buffer.from([0x7b, 0x22, 0xe2, 0x82, 0x22, 0x3a, 0x31, 0x7d]),
  "a surrogate in UTF-8": Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
};

/** Texts that no shape may be. */
export const hostileShapes: readonly string[] = ["", "No Shape", "*", "..", "\u0000", "a/b", "x".repeat(65), "\u202e"];

/** Texts that no number of an option may be. */
export const hostileNumbers: readonly string[] = [
  "",
  " 1",
  "-1",
  "1e3",
  "0x10",
  "NaN",
  "Infinity",
  "1_000",
  "\uff11",
  "one",
];

/** A value that an option of a type cannot have; undefined: it takes any text. */
export function valueOfWrongType(option: Option): string | undefined {
  if (option.parseArg === parseShapes) return "No Shape";
  if (option.argChoices !== undefined) return "none-of-these";
  return /<(?:seconds|n|port|revision)>/.test(option.flags) ? "one" : undefined;
}
