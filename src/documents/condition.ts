import { InvalidRequestError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import type { Condition, Fields } from "./contract.js";
import { jsonEqual } from "./json-equal.js";
import { checkFields } from "./json-value.js";
import { checkBoolean, pathTo, readMembers, shown } from "./request-members.js";

/** A living document, as far as a condition looks at it. */
export interface ConditionTarget {
  readonly revision: number;
  readonly fields: Fields;
}

const members: ReadonlySet<string> = new Set(["exists", "revision", "fields"]);

/**
 * Judges a condition and returns it with its fields in normal form.
 *
 * What says nothing is refused, because it would always hold: an empty condition, empty fields, and a member that was
 * given as undefined. `{ revision: found?.revision }` of a document that was not found must not overwrite another one.
 *
 * @throws InvalidRequestError naming the path
 */
export function checkCondition(value: unknown, path: string, limits: Limits): Condition {
  const given = readMembers(value, path, "the condition", members);
  const names = Object.keys(given);
  if (names.length === 0) throw new InvalidRequestError(path, "must not be empty: it would always hold");
  const condition: { exists?: boolean; revision?: number; fields?: Fields } = {};
  for (const name of names) {
    const memberPath = pathTo(path, name);
    const member = given[name];
    if (member === undefined) {
      throw new InvalidRequestError(memberPath, "must not be undefined: leave it out or give it a value");
    }
    if (name === "exists") condition.exists = checkBoolean(member, memberPath);
    else if (name === "revision") condition.revision = checkRevision(member, memberPath);
    else condition.fields = checkExpectedFields(member, memberPath, limits);
  }
  return condition;
}

/**
 * Whether all that the condition says holds.
 *
 * @param target the living document; undefined: there is none, where only `exists: false` alone can hold
 */
export function conditionHolds(condition: Condition, target: ConditionTarget | undefined): boolean {
  const { exists, revision, fields } = condition;
  if (target === undefined) return exists === false && revision === undefined && fields === undefined;
  if (exists === false) return false;
  if (revision !== undefined && revision !== target.revision) return false;
  return fields === undefined || fieldsHold(fields, target.fields);
}

function fieldsHold(expected: Fields, actual: Fields): boolean {
  for (const name of Object.keys(expected)) {
    if (!Object.hasOwn(actual, name) || !jsonEqual(expected[name], actual[name])) return false;
  }
  return true;
}

function checkRevision(value: unknown, path: string): number {
  if (value === 0) throw new InvalidRequestError(path, "0 is no document's revision; for absence say exists: false");
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw new InvalidRequestError(path, `must be a revision, an integer from 1, not ${shown(value)}`);
  }
  return value;
}

function checkExpectedFields(value: unknown, path: string, limits: Limits): Fields {
  const fields = checkFields(value, path, limits);
  if (Object.keys(fields).length === 0) {
    throw new InvalidRequestError(path, "must not be empty: it would hold for every document");
  }
  return fields;
}
