import type { JsonValue } from "./contract.js";

/**
 * Whether two JSON values are the same value: the order of members does not matter, that of elements does, and 0 equals
 * -0. Undefined, the value of a member that is not there, equals only itself; it is not null.
 */
export function jsonEqual(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && arraysEqual(a, b);
  return !Array.isArray(b) && objectsEqual(a, b);
}

function arraysEqual(a: readonly JsonValue[], b: readonly JsonValue[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    if (!jsonEqual(a[index], b[index])) return false;
  }
  return true;
}

function objectsEqual(a: { [name: string]: JsonValue }, b: { [name: string]: JsonValue }): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  for (const name of names) {
    if (!Object.hasOwn(b, name) || !jsonEqual(a[name], b[name])) return false;
  }
  return true;
}
