/* Values that a member may not expect, one at a time. */

/** A value in JSON text: some cannot be said in any other way. */
export interface WrongValue {
  readonly name: string;
  readonly json: string;
  /** Whether no member may take it, whatever its schema says. */
  readonly never?: true;
}

const million = "x".repeat(1_100_000);

export const wrongValues: readonly WrongValue[] = [
  { name: "null", json: "null" },
  { name: "true", json: "true" },
  { name: "false", json: "false" },
  { name: "0", json: "0" },
  { name: "-0", json: "-0" },
  { name: "1", json: "1" },
  { name: "-1", json: "-1" },
  { name: "1.5", json: "1.5" },
  { name: "1e-400", json: "1e-400" },
  { name: "1e308", json: "1e308", never: true },
  { name: "1e400", json: "1e400", never: true },
  { name: "-1e400", json: "-1e400", never: true },
  { name: "2^53", json: "9007199254740992", never: true },
  { name: "2^53 + 1", json: "9007199254740993", never: true },
  { name: "2^64", json: "18446744073709551616", never: true },
  { name: "an empty text", json: '""' },
  { name: "a text", json: '"text"' },
  { name: "digits", json: '"1"' },
  { name: "the text NaN", json: '"NaN"' },
  { name: "a text with NUL", json: '"a\\u0000b"' },
  { name: "a lone surrogate", json: '"a\\ud800"', never: true },
  { name: "a lone surrogate behind a pair", json: '"\\ud83d\\ude00\\ude00"', never: true },
  { name: "a long text", json: JSON.stringify("x".repeat(2000)) },
  { name: "a long text in two bytes a character", json: JSON.stringify("é".repeat(600)) },
  { name: "a text over a mebibyte", json: JSON.stringify(million), never: true },
  { name: "an empty array", json: "[]" },
  { name: "an array", json: "[1]" },
  { name: "an empty object", json: "{}" },
  { name: "an object", json: '{"a":1}' },
  { name: "an object with __proto__", json: '{"__proto__":{"admin":true}}', never: true },
  { name: "an object with __proto__ within", json: '{"a":[{"__proto__":null}]}', never: true },
  { name: "an object with constructor", json: '{"constructor":{"prototype":{"admin":true}}}' },
  { name: "an object with a lone surrogate for a name", json: '{"\\udc00":1}', never: true },
  { name: "an object nested too deeply", json: `{"a":${"[".repeat(100)}${"]".repeat(100)}}`, never: true },
  { name: "an object with 1e400 within", json: '{"a":{"b":[1e400]}}', never: true },
];

/** A query parameter or a part of an address, as text; percent-encoded already. */
export const wrongTexts: readonly string[] = [
  "",
  "null",
  "true",
  "TRUE",
  "1",
  "-1",
  "1.5",
  "1e3",
  "0x10",
  "NaN",
  "Infinity",
  "9007199254740992",
  "99999999999999999999",
  "%201",
  "a%00b",
  "%ff",
  "%ED%A0%80",
  "%C0%AF",
  "%",
  "%u0041",
  "UPPER",
  "%F0%9F%98%80",
  "__proto__",
  "constructor",
  "x".repeat(2000),
  "%C3%A9".repeat(600),
  "[]",
  "%7B%22a%22%3A1%7D",
];

/** A header's value. */
export const wrongHeaders: readonly string[] = [
  "",
  " ",
  "x",
  '"',
  '""',
  '"-1"',
  '"1.5"',
  '"00"',
  "1",
  '"9007199254740993"',
  "W/",
  'W/"x"',
  '"1", "2"',
  "*, *",
  "wait",
  "wait=",
  "wait=-1",
  "wait=1e3",
  "wait=301",
  'wait="',
  "null",
  "\u00e9",
  '"\\"',
  "\t1",
  "x".repeat(5000),
];
