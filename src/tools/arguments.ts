import { types } from "node:util";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { InvalidRequestError } from "../base/errors.js";
import { defaultLimits } from "../base/limits.js";
import { canonicalJson } from "../documents/canonical-json.js";
import type { JsonValue } from "../documents/contract.js";
import { checkJson } from "../documents/json-value.js";
import { isPlainArray, isPlainObject } from "../documents/plain-object.js";
import { isStandardSchema, validate } from "./schema.js";
import { momentNear } from "./stable-key.js";

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
 * @param now the wall clock, milliseconds since 1970; undefined: nothing is known of it, nor asked about
 * @throws InvalidRequestError with the path of what is wrong: `args.to`
 */
export async function readArguments(
  schema: StandardSchemaV1 | undefined,
  given: unknown,
  now?: number,
): Promise<CallArguments> {
  // A tool without parameters is called with nothing by some and with an empty object by others.
  const input = given === undefined ? {} : given;
  if (schema === undefined) return { identity: identityOf(input), value: structuredClone(input) };
  const { output, again } = await validate(schema, input);
  if (again !== undefined) checkStable({ given: input, output, again: again.output, now });
  return { identity: identityOf(output), value: structuredClone(output) };
}

/**
 * For arguments that a framework validates itself: refuses those that the schema makes anew each time.
 *
 * @param schema none that is known here decides nothing, nor does one that takes waiting
 * @param given what the model wrote; where it is not valid for the schema as it is, nothing is decided
 * @param now the wall clock, milliseconds since 1970
 * @throws InvalidRequestError
 */
export async function refuseUnstable(schema: unknown, given: unknown, now: number): Promise<void> {
  if (!isStandardSchema(schema)) return;
  const outputs = await validate(schema, given).catch(() => undefined);
  if (outputs?.again === undefined) return;
  checkStable({ given, output: outputs.output, again: outputs.again.output, now });
}

/** What a schema made of some input, asked twice. */
interface SchemaOutputs {
  readonly given: unknown;
  readonly output: unknown;
  readonly again: unknown;
  /** The wall clock, milliseconds since 1970. */
  readonly now: number | undefined;
}

/** @throws InvalidRequestError when the two differ, or a member that was not given is a moment near now: a slower clock's */
export function checkStable({ given, output, again, now }: SchemaOutputs): void {
  const identity = identityOf(output);
  const isSame = canonicalJson(identity, "args") === canonicalJson(identityOf(again), "args");
  const added = isSame && now !== undefined ? addedTo(given, identity) : [];
  const isTimely = (value: JsonValue): boolean =>
    now !== undefined && momentNear(JSON.stringify(value), textOf(given), now) !== undefined;
  if (isSame && !added.some(isTimely)) return;
  throw new InvalidRequestError(
    "args",
    "are made anew by the schema each time (a time, a random id): no retry would be recognised. Make such values in the tool",
  );
}

function textOf(given: unknown): string {
  try {
    return JSON.stringify(given) ?? "";
  } catch {
    return "";
  }
}

/** What stands in the output and was not given in any form. */
function addedTo(given: unknown, output: JsonValue): readonly JsonValue[] {
  if (given === undefined) return [output];
  if (typeof given !== "object" || given === null || typeof output !== "object" || output === null) return [];
  return Object.entries(output).flatMap(([name, member]) => {
    return addedTo(Object.hasOwn(given, name) ? Reflect.get(given, name) : undefined, member);
  });
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
