import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import { getContent, putContent } from "../content/index.js";
import type { DocumentStore, JsonValue } from "../documents/contract.js";
import { checkShape } from "../documents/names.js";
import { checkFunction, readMembers, shown } from "../documents/request-members.js";
import type { SeenRecord } from "./record.js";
import { encodeResult, outcomeOf, type ToolCallOutcome } from "./result.js";
import type { Settled } from "./settling.js";
import type { StoredResult } from "./transition-types.js";

/** What is kept of the results of tools, and where. */
export interface ResultOptions {
  /**
   * Bytes of JSON text that a result may take within its record. Absent: 65,536 with `large: "blob"`, else as much as a
   * document holds.
   */
  readonly maxBytes?: number | undefined;
  /**
   * What becomes of a larger one, `"tombstone"` when absent: the call is known to be done and its result is not kept
   * (`result_omitted`). `"blob"`: it is kept in a document of its own, named by its hash, and checked against that when it
   * is replayed. A result that no document holds is a tombstone in any case.
   */
  readonly large?: "tombstone" | "blob" | undefined;
  /** The shape of those documents, "tool-result" when absent. */
  readonly shape?: string | undefined;
  /**
   * What is kept instead of the result, and so what every caller gets, the first one too. When it throws, nothing is kept
   * and nobody gets anything.
   */
  readonly redact?: ((result: unknown, tool: string) => unknown) | undefined;
}

/** The options, judged. */
export interface ResultSettings {
  /** undefined: as much as a document holds. */
  readonly maxBytes: number | undefined;
  readonly large: "tombstone" | "blob";
  readonly shape: string;
  readonly redact: ((result: unknown, tool: string) => unknown) | undefined;
}

/** A result on its way into its record. */
export interface KeptResult {
  readonly stored: StoredResult;
  /** What the first caller gets when the record cannot keep it. */
  readonly live: unknown;
}

const members: ReadonlySet<string> = new Set(["maxBytes", "large", "shape", "redact"]);
const inlineBytesMax = 65_536;

/** @param recordShape the shape of the records, which results must not share. @throws InvalidRequestError */
export function resolveResultOptions(options: ResultOptions, recordShape: string): ResultSettings {
  readMembers(options, "results", "the options", members);
  const { large = "tombstone", shape = "tool-result", redact } = options;
  if (large !== "tombstone" && large !== "blob") {
    throw new InvalidRequestError("results.large", `must be "tombstone" or "blob", not ${shown(large)}`);
  }
  const { maxBytes = large === "blob" ? inlineBytesMax : undefined } = options;
  if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes >= 0)) {
    throw new InvalidRequestError("results.maxBytes", `must be a number of bytes, not ${shown(maxBytes)}`);
  }
  checkFunction(redact, "results.redact");
  if (checkShape(shape, "results.shape") === recordShape) {
    throw new InvalidRequestError("results.shape", `must not be ${JSON.stringify(shape)}, the shape of the records`);
  }
  return { maxBytes, large, shape, redact };
}

/** Keeps results, within their records or beside them, and finds them again. */
export class ResultKeeping {
  readonly #store: DocumentStore;
  readonly #settings: ResultSettings;
  readonly #limits: Limits;

  constructor(store: DocumentStore, settings: ResultSettings) {
    this.#store = store;
    this.#settings = settings;
    this.#limits = store.limits;
  }

  /**
   * What the record of a call will hold of its result. What is too large for it has been written when this resolves. Never
   * rejects: that the tool is done must be recorded in any case.
   *
   * @param windowSeconds how long the record will be kept
   */
  async keep(result: unknown, tool: string, windowSeconds: number): Promise<KeptResult> {
    let live: unknown;
    try {
      const { redact } = this.#settings;
      live = redact === undefined ? result : await redact(result, tool);
    } catch {
      // Whatever it was to hide must not get out for that.
      return { stored: { kind: "omitted", reason: "redaction_failed" }, live: undefined };
    }
    const stored = encodeResult(live, this.#limits);
    const { maxBytes, large } = this.#settings;
    if (stored.kind !== "json" || maxBytes === undefined || !isLarger(stored.value, maxBytes)) return { stored, live };
    if (large === "tombstone") return { stored: { kind: "omitted", reason: "too_large" }, live };
    return { stored: await this.#keepBeside(stored, windowSeconds), live };
  }

  /**
   * The result that was kept beside its record.
   *
   * @returns undefined: it is gone
   * @throws `store_damaged` when it is not what it was; what the store throws
   */
  async load(id: string): Promise<{ readonly value: JsonValue } | undefined> {
    const content = await getContent(this.#store, this.#settings.shape, id);
    return content?.kind === "json" ? content : undefined;
  }

  async #keepBeside(stored: Extract<StoredResult, { kind: "json" }>, windowSeconds: number): Promise<StoredResult> {
    const { value } = stored;
    // A record that the store does not take at once is tried for a whole window, and is kept for one from then on.
    const ttl = Math.min(2 * windowSeconds, this.#limits.ttlSecondsMax);
    try {
      const { id } = await putContent(this.#store, this.#settings.shape, value, { ttl });
      return { kind: "content", id, value };
    } catch (error) {
      if (error instanceof OnceKvError && error.code === "too_large") return { kind: "omitted", reason: "too_large" };
      // The record itself will be tried again and again: within it the result may yet be saved.
      return stored;
    }
  }
}

/** The outcome of a call that has just been settled, for the caller whose tool it was. */
export function ownOutcome({ record, persisted }: Settled, { stored, live }: KeptResult): ToolCallOutcome<unknown> {
  return outcomeOf(record, {
    was_replay: false,
    persisted,
    live,
    beside: stored.kind === "content" ? stored : undefined,
  });
}

/** The outcome for somebody who finds a record completed. @throws as `load` */
export async function replayOf({ record }: SeenRecord, results: ResultKeeping): Promise<ToolCallOutcome<unknown>> {
  const { result_ref: ref } = record;
  const beside = ref === undefined ? undefined : await results.load(ref);
  return outcomeOf(record, { was_replay: true, persisted: true, beside });
}

function isLarger(value: JsonValue, bytesMax: number): boolean {
  return Buffer.byteLength(JSON.stringify(value), "utf8") > bytesMax;
}
