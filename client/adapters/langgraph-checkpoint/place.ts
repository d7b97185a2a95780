import { createHash } from "node:crypto";
import { InvalidRequestError } from "../../../src/base/errors.js";
import { kindOf } from "../../../src/documents/value-kind.js";
import { isWellFormed } from "../../../src/documents/well-formed.js";
import type { SaverConfig } from "./types.js";

/*
 * Where things lie: the documents of a thread have one beginning of their ids for each kind, so that reading a thread never
 * meets another one, and reading its checkpoints neither their writes nor the parts of large ones. Within a namespace the ids
 * of checkpoints are in their own order, which is the order in time.
 */

/** A thread's namespace. */
export interface Place {
  readonly threadId: string;
  readonly namespace: string;
}

/** A checkpoint's place. */
export interface CheckpointPlace extends Place {
  readonly checkpointId: string;
}

/** What lies in the store: checkpoints, the writes of their tasks, and parts of what does not fit into one document. */
export type Kind = "checkpoint" | "writes" | "part";

const kinds: { readonly [K in Kind]: string } = { checkpoint: "c", writes: "w", part: "p" };

/** All kinds, in the order in which a thread is deleted: what is found by nobody any more goes last. */
export const allKinds: readonly Kind[] = ["checkpoint", "writes", "part"];

/** Longest name that stands in an id as it is, in bytes; four of them and what is between fit into every store's ids. */
const nameBytesMax = 200;

/** The beginning of the ids of a kind, in all threads, in one, or in one namespace. */
export function prefixOf(kind: Kind, ...names: readonly string[]): string {
  return [kinds[kind], ...names.map(spelled), ""].join("/");
}

/** The id of a checkpoint's document, or of one that belongs to it. */
export function idOf(kind: Kind, { threadId, namespace, checkpointId }: CheckpointPlace, ...names: string[]): string {
  return [kinds[kind], ...[threadId, namespace, checkpointId, ...names].map(spelled)].join("/");
}

/** An id after all that begin so. @param prefix ends with a slash */
export function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

/**
 * A name as it stands in an id: unlike any other's, and without a slash. One that is too long stands there as its hash, which
 * nothing else looks like: a percent sign is otherwise followed by a digit.
 */
function spelled(name: string): string {
  const escaped = name.replaceAll("%", "%25").replaceAll("/", "%2F");
  if (Buffer.byteLength(escaped) <= nameBytesMax) return escaped;
  return `%h${createHash("sha256").update(name).digest("hex")}`;
}

/** The members of a config that say where; undefined where they are not there. */
export interface ConfigPlace {
  readonly threadId: string | undefined;
  readonly namespace: string | undefined;
  readonly checkpointId: string | undefined;
}

/** @throws InvalidRequestError when one of them is no text */
export function readConfig(config: SaverConfig): ConfigPlace {
  const { thread_id, checkpoint_ns, checkpoint_id, thread_ts } = config.configurable ?? {};
  return {
    threadId: textOf(thread_id, "thread_id"),
    namespace: textOf(checkpoint_ns, "checkpoint_ns"),
    // An empty id stands for the newest one; an older name of it is still in use.
    checkpointId: textOf(checkpoint_id, "checkpoint_id") || textOf(thread_ts, "thread_ts") || undefined,
  };
}

/** A member that must be there. @throws InvalidRequestError */
export function needed(value: string | undefined, name: string): string {
  if (value === undefined) throw new InvalidRequestError(`configurable.${name}`, "is needed");
  return value;
}

function textOf(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return String(value);
  const path = `configurable.${name}`;
  if (typeof value !== "string") throw new InvalidRequestError(path, `must be a string, not ${kindOf(value)}`);
  // Two texts with different halves of a character would be one in UTF-8.
  if (!isWellFormed(value)) throw new InvalidRequestError(path, "has a lone surrogate");
  return value;
}
