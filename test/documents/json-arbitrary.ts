import fc from "fast-check";
import type { Fields, JsonValue } from "../../src/documents/contract.js";

/** Names that are traps for code which uses objects as maps, besides any other well-formed name. */
const memberName: fc.Arbitrary<string> = fc
  .oneof(
    { weight: 3, arbitrary: fc.constantFrom("a", "b", "c", "1", "10", "") },
    { weight: 1, arbitrary: fc.constantFrom("constructor", "toString", "toJSON", "hasOwnProperty", "prototype") },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
  )
  .filter((name) => name !== "__proto__");

/** Numbers that a document may hold. */
const number: fc.Arbitrary<number> = fc
  .oneof(fc.maxSafeInteger(), fc.double({ min: -(2 ** 53 - 1), max: 2 ** 53 - 1, noNaN: true }))
  .map((value) => (value === 0 ? 0 : value));

const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  number,
  fc.string({ unit: "binary", maxLength: 12 }),
);

const tree = fc.letrec<{ value: JsonValue; fields: Fields; array: JsonValue[] }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, depthSize: "small" }, scalar, tie("array"), tie("fields")),
  array: fc.array(tie("value"), { maxLength: 4 }),
  fields: fc.dictionary(memberName, tie("value"), { maxKeys: 5, noNullPrototype: true }),
}));

/**
 * Any JSON value in normal form: what a document may hold, without -0. Compare such values with Node's `deepStrictEqual`:
 * `toStrictEqual` takes an own member named `constructor` for the class of the object.
 */
export const jsonValue: fc.Arbitrary<JsonValue> = tree.value;

/** Any fields in normal form. */
export const fields: fc.Arbitrary<Fields> = tree.fields;

/** The same value with the members of all its objects in the opposite order, as far as an object lets one choose it. */
export function reordered(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reordered(member)]),
  );
}
