import type { Fields, JsonValue } from "./contract.js";

/**
 * Applies a merge patch as RFC 7396 defines it: null removes a member, objects merge member by member, anything else
 * replaces.
 *
 *     mergePatch({ a: 1, b: { c: 2, d: 3 } }, { a: null, b: { c: 4 } })  // { b: { c: 4, d: 3 } }
 *
 * Neither argument is changed. The result keeps the order of `fields`, with new members at the end, and shares with both
 * what the patch does not merge.
 */
export function mergePatch(fields: Fields, patch: Fields): Fields {
  const merged: Fields = {};
  for (const name of Object.keys(fields)) {
    const current = fields[name];
    if (current === undefined) continue;
    const change = Object.hasOwn(patch, name) ? patch[name] : undefined;
    if (change === undefined) merged[name] = current;
    else if (change !== null) merged[name] = mergeValue(current, change);
  }
  for (const name of Object.keys(patch)) {
    const change = patch[name];
    if (change === undefined || change === null || Object.hasOwn(fields, name)) continue;
    merged[name] = mergeValue(null, change);
  }
  return merged;
}

/** What is no object counts as an empty one under an object of the patch, whose nulls must not be stored. */
function mergeValue(current: JsonValue, change: JsonValue): JsonValue {
  if (!isObject(change)) return change;
  return mergePatch(isObject(current) ? current : {}, change);
}

function isObject(value: JsonValue): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
