import { InvalidRequestError } from "../../../src/base/errors.js";
import type { Limits } from "../../../src/base/limits.js";
import { checkShape } from "../../../src/documents/names.js";
import { readMembers } from "../../../src/documents/request-members.js";
import { checkTtl } from "../../../src/documents/time-to-live.js";
import type { Serializer } from "./types.js";

/** Options of `checkpointSaver`. */
export interface CheckpointSaverOptions {
  /** The shape of the documents; `langgraph-checkpoint` when absent. */
  readonly shape?: string | undefined;
  /** Seconds that a checkpoint and its writes are kept after they are written; null, the default, for ever. */
  readonly ttl?: number | null | undefined;
  /** Makes bytes of values; the framework's own when absent. */
  readonly serde?: Serializer | undefined;
}

/** The same, judged. */
export interface SaverSettings {
  readonly shape: string;
  readonly ttl: number | null;
  /** Parts of large values outlive what refers to them, which is written after them. */
  readonly partTtl: number | null;
  readonly serde: Serializer | undefined;
}

/** Seconds that a part lives longer: by far more than it takes to write the rest. */
const partTtlMargin = 3600;

const members: ReadonlySet<string> = new Set(["shape", "ttl", "serde"]);

/** @throws InvalidRequestError */
export function resolveSaverOptions(options: CheckpointSaverOptions, limits: Limits): SaverSettings {
  readMembers(options, "", "the options", members);
  const { shape = "langgraph-checkpoint", ttl = null, serde } = options;
  checkShape(shape, "shape");
  checkTtl(ttl, "ttl", limits);
  for (const name of ["dumpsTyped", "loadsTyped"] as const) {
    if (serde !== undefined && typeof serde?.[name] !== "function") {
      throw new InvalidRequestError(`serde.${name}`, "must be a function");
    }
  }
  return { shape, ttl, partTtl: ttl === null ? null : Math.min(ttl + partTtlMargin, limits.ttlSecondsMax), serde };
}
