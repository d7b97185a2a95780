import { types } from "node:util";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { InvalidRequestError } from "../base/errors.js";
import { defaultLimits } from "../base/limits.js";
import { canonicalJson } from "../documents/canonical-json.js";
import type { JsonValue } from "../documents/contract.js";
import { checkJson } from "../documents/json-value.js";
import { isPlainArray, isPlainObject } from "../documents/plain-object.js";
import { isStandardSchema, validate } from "./schema.js";

/*
 * What identifies a call is made of what the schema gives, not of what the model wrote: a default left out or spelled out,
 * blanks around an address and a member that the schema drops are the same call. A Date counts as its ISO 8601 text. Other
 * values that are not JSON (a Map, a bigint) are refused; make them in the tool, from JSON.
 */

/** The arguments of a call. */
export interface CallArguments {
  /** For the tool: what the schema gave, a copy that nobody else can change while the call waits. */
  readonly value: unknown;
  /** For key, fingerprint and record. */
  readonly identity: JsonValue;
}

/** Members in which models send keys that they make anew for every try. They go to the tool, but identify nothing. */
const modelKeys: ReadonlySet<string> = new Set(["idempotency_key", "idempotencyKey"]);

/**
 * Judges the arguments that a caller gave.
 *
 * @param schema undefined: they have been validated before, or nobody has said what they must be
 * @throws InvalidRequestError with the path of what is wrong: `args.to`
 */
export async function readArguments(schema: StandardSchemaV1 | undefined, given: unknown): Promise<CallArguments> {
  // A tool without parameters is called with nothing by some and with an empty object by others.
  const input = given === undefined ? {} : given;
  if (schema === undefined) return { identity: identityOf(input), value: structuredClone(input) };
  const { output, again } = await validate(schema, input);
  if (again !== undefined) refuseDifferent(output, again.output);
  return { identity: identityOf(output), value: structuredClone(output) };
}

/**
 * For arguments that a framework validates itself: refuses those that the schema makes anew each time.
 *
 * @param schema none that is known here decides nothing, nor does one that takes waiting
 * @param given what the model wrote; where it is not valid for the schema as it is, nothing is decided
 * @throws InvalidRequestError
 */
export async function refuseUnstable(schema: unknown, given: unknown): Promise<void> {
  if (!isStandardSchema(schema)) return;
  const outputs = await validate(schema, given).catch(() => undefined);
  if (outputs?.again !== undefined) refuseDifferent(outputs.output, outputs.again.output);
}

/** @param output what a schema made of some input @param again what it made of the same @throws InvalidRequestError */
export function refuseDifferent(output: unknown, again: unknown): void {
  if (canonicalJson(identityOf(output), "args") === canonicalJson(identityOf(again), "args")) return;
  throw new InvalidRequestError(
    "args",
    "are made anew by the schema each time (a time, a random id): no retry would be recognised. Make such values in the tool",
  );
}

function identityOf(value: unknown): JsonValue {
  const json = checkJson(withoutDates(value), "args", defaultLimits);
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  return Object.fromEntries(Object.entries(json).filter(([name]) => !modelKeys.has(name)));
}

function withoutDates(value: unknown): unknown {
  try {
    return datesAsText(value, new Map());
  } catch (error) {
    throw new InvalidRequestError("args", "cannot be read", { cause: error });
  }
}

/**
 * A copy with every Date as text. What it cannot copy faithfully it leaves as it is, for `checkJson` to refuse; what refers
 * to itself stays so in the copy.
 */
function datesAsText(value: unknown, copies: Map<object, unknown>): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? value : value.toISOString();
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (isPlainArray(value) && Object.keys(value).length === value.length) {
    const copy: unknown[] = [];
    copies.set(value, copy);
    for (const each of value) copy.push(datesAsText(each, copies));
    return copy;
  }
  if (isPlainObject(value) && Object.getOwnPropertySymbols(value).length === 0 && !Object.hasOwn(value, "__proto__")) {
    const copy: { [name: string]: unknown } = {};
    copies.set(value, copy);
    for (const [name, member] of Object.entries(value)) copy[name] = datesAsText(member, copies);
    return copy;
  }
  return value;
}
