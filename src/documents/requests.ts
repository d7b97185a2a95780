import { InvalidRequestError, TooLargeError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import { checkCondition } from "./condition.js";
import type { Condition, Fields, WriteIdentity } from "./contract.js";
import { checkFields } from "./json-value.js";
import { checkId, checkShape, checkWriteId } from "./names.js";
import type { PlainObject } from "./plain-object.js";
import { type KnownMembers, pathTo, readMembers } from "./request-members.js";
import { checkTtl } from "./time-to-live.js";
import { kindOf } from "./value-kind.js";

export { checkKeys, checkList, checkWait, checkWatch } from "./requests-read.js";
export { checkTtl };

/** A write that was judged: what the engine carries out. */
export type CheckedWrite = {
  readonly kind: "put" | "patch" | "delete" | "check";
  readonly shape: string;
  readonly id: string;
  /** put: all fields; patch: the merge patch, undefined when only the ttl changes; else undefined. */
  readonly fields: Fields | undefined;
  /** Milliseconds to live; null: for ever; undefined: not given. */
  readonly ttlMs: number | null | undefined;
  readonly condition: Condition | undefined;
  /** Whether the result carries the document. */
  readonly wantsDocument: boolean;
};

/** The members of one kind of write: as a call of its own, and as an operation of a batch. */
interface WriteMembers {
  readonly single: KnownMembers;
  readonly batched: KnownMembers;
}

function writeMembers(...names: string[]): WriteMembers {
  return { single: new Set([...names, "write_id"]), batched: new Set(["op", ...names]) };
}

const putMembers = writeMembers("shape", "id", "set", "ttl", "if_match", "return");
const patchMembers = writeMembers("shape", "id", "merge", "ttl", "if_match", "return");
const deleteMembers = writeMembers("shape", "id", "if_match", "return");
const checkMembers = writeMembers("shape", "id", "if_match");
const batchOptionMembers: KnownMembers = new Set(["write_id"]);

/**
 * Judges a put. A member that is undefined counts as absent, except `if_match`: an undefined one is refused, since it
 * would make the write an unconditional one.
 *
 * @param path "" for a call of its own, "operations[2]" for an operation of a batch
 * @throws InvalidRequestError naming the path
 */
export function checkPut(write: unknown, path: string, limits: Limits): CheckedWrite {
  const given = readWrite(write, path, putMembers);
  return {
    kind: "put",
    shape: checkShape(given["shape"], pathTo(path, "shape")),
    id: checkId(given["id"], pathTo(path, "id"), limits),
    fields: checkFields(given["set"], pathTo(path, "set"), limits),
    ttlMs: checkOptionalTtl(given, path, limits),
    condition: checkOptionalCondition(given, path, limits),
    wantsDocument: checkReturn(given["return"], path),
  };
}

/** Judges a patch, which needs `merge` or `ttl`. @throws InvalidRequestError as `checkPut` does */
export function checkPatch(write: unknown, path: string, limits: Limits): CheckedWrite {
  const given = readWrite(write, path, patchMembers);
  const merge = given["merge"];
  const ttlMs = checkOptionalTtl(given, path, limits);
  if (merge === undefined && ttlMs === undefined) {
    throw new InvalidRequestError(path, "a patch needs merge or ttl: this one changes nothing");
  }
  return {
    kind: "patch",
    shape: checkShape(given["shape"], pathTo(path, "shape")),
    id: checkId(given["id"], pathTo(path, "id"), limits),
    fields: merge === undefined ? undefined : checkFields(merge, pathTo(path, "merge"), limits),
    ttlMs,
    condition: checkOptionalCondition(given, path, limits),
    wantsDocument: checkReturn(given["return"], path),
  };
}

/** Judges a delete. @throws InvalidRequestError as `checkPut` does */
export function checkDelete(write: unknown, path: string, limits: Limits): CheckedWrite {
  const given = readWrite(write, path, deleteMembers);
  return {
    kind: "delete",
    shape: checkShape(given["shape"], pathTo(path, "shape")),
    id: checkId(given["id"], pathTo(path, "id"), limits),
    fields: undefined,
    ttlMs: undefined,
    condition: checkOptionalCondition(given, path, limits),
    wantsDocument: checkReturn(given["return"], path),
  };
}

/**
 * Judges the operations of a batch. Each document may be named once, checks included: which of two operations wins would
 * otherwise depend on their order.
 *
 * @throws InvalidRequestError naming the path; TooLargeError over `limits.batchOperationsMax`
 */
export function checkBatch(operations: unknown, limits: Limits): CheckedWrite[] {
  if (!Array.isArray(operations)) {
    throw new InvalidRequestError("operations", `must be an array, not ${kindOf(operations)}`);
  }
  if (operations.length === 0) throw new InvalidRequestError("operations", "must hold at least one operation");
  if (operations.length > limits.batchOperationsMax) {
    throw new TooLargeError("operations", `must hold at most ${limits.batchOperationsMax} operations`);
  }
  const positions = new Map<string, number>();
  const writes: CheckedWrite[] = [];
  for (let index = 0; index < operations.length; index++) {
    const write = checkOperation(operations[index], `operations[${index}]`, limits);
    // No shape holds a zero character, so that no two documents meet here.
    const document = `${write.shape}\0${write.id}`;
    const earlier = positions.get(document);
    if (earlier !== undefined) {
      throw new InvalidRequestError(
        `operations[${index}]`,
        `names the same document as operations[${earlier}]; a batch holds at most one operation for each`,
      );
    }
    positions.set(document, index);
    writes.push(write);
  }
  return writes;
}

/**
 * The write id of a write whose members were judged, by `checkPut` or its like; undefined when there is none.
 *
 * @throws InvalidRequestError for a bad one
 */
export function writeIdOf({ write_id: writeId }: WriteIdentity, limits: Limits): string | undefined {
  return writeId === undefined ? undefined : checkWriteId(writeId, "write_id", limits);
}

/**
 * The write id in the options of a batch; undefined when there is none.
 *
 * @throws InvalidRequestError for a bad one, and for a member that these options do not have
 */
export function batchWriteIdOf(options: unknown, limits: Limits): string | undefined {
  return writeIdOf(readMembers(options, "", "the options", batchOptionMembers), limits);
}

function checkOperation(operation: unknown, path: string, limits: Limits): CheckedWrite {
  const op = typeof operation === "object" && operation !== null && "op" in operation ? operation.op : undefined;
  switch (op) {
    case "put":
      return checkPut(operation, path, limits);
    case "patch":
      return checkPatch(operation, path, limits);
    case "delete":
      return checkDelete(operation, path, limits);
    case "check":
      return checkCheck(operation, path, limits);
    default:
      throw new InvalidRequestError(pathTo(path, "op"), 'must be "put", "patch", "delete" or "check"');
  }
}

function checkCheck(operation: unknown, path: string, limits: Limits): CheckedWrite {
  const given = readWrite(operation, path, checkMembers);
  return {
    kind: "check",
    shape: checkShape(given["shape"], pathTo(path, "shape")),
    id: checkId(given["id"], pathTo(path, "id"), limits),
    fields: undefined,
    ttlMs: undefined,
    condition: checkCondition(given["if_match"], pathTo(path, "if_match"), limits),
    wantsDocument: false,
  };
}

function readWrite(write: unknown, path: string, members: WriteMembers): PlainObject {
  return path === ""
    ? readMembers(write, path, "the write", members.single)
    : readMembers(write, path, "the operation", members.batched);
}

function checkOptionalTtl(given: PlainObject, path: string, limits: Limits): number | null | undefined {
  const ttl = given["ttl"];
  return ttl === undefined ? undefined : checkTtl(ttl, pathTo(path, "ttl"), limits);
}

function checkOptionalCondition(given: PlainObject, path: string, limits: Limits): Condition | undefined {
  const condition = given["if_match"];
  if (condition !== undefined) return checkCondition(condition, pathTo(path, "if_match"), limits);
  if (!Object.hasOwn(given, "if_match")) return undefined;
  throw new InvalidRequestError(
    pathTo(path, "if_match"),
    "must not be undefined: leave it out to write without a condition",
  );
}

function checkReturn(value: unknown, path: string): boolean {
  if (value === undefined) return false;
  if (value !== "document")
    throw new InvalidRequestError(pathTo(path, "return"), 'must be "document" when it is given');
  return true;
}
