import { OnceKvError } from "../base/errors.js";
import type { Document, DocumentStore, Fields, ListOptions, WriteResult } from "../documents/contract.js";
import { PreconditionFailedError } from "../documents/precondition-failed.js";
import type { WriteEvent } from "./acquisition-decisions.js";
import { type SeenRecord, seenRecord } from "./record.js";
import type { RecordWrite } from "./transition-types.js";

/** Codes of errors after which a write has certainly not happened. */
const notApplied: ReadonlySet<unknown> = new Set([
  "invalid_request",
  "too_large",
  "unauthorized",
  "forbidden",
  "not_found",
  "route_not_found",
  "method_not_allowed",
  "unsupported_media_type",
  "rate_limited",
  "overloaded",
  "store_failed",
  "store_closed",
]);

type Unanswered = Extract<WriteEvent, { event: "unanswered" }>;

/** The records of one shape of a store: what the protocol's writes and reads mean in terms of `DocumentStore`. */
export class RecordStore {
  readonly #store: DocumentStore;
  readonly #shape: string;

  constructor(store: DocumentStore, shape: string) {
    this.#store = store;
    this.#shape = shape;
  }

  /** Carries out a write and says how it ended. Never rejects. */
  async write(key: string, write: RecordWrite): Promise<WriteEvent> {
    try {
      const { revision } = await this.#send(key, write);
      return { event: "written", revision };
    } catch (error) {
      // A record may fill its document to the last byte. Its claim must not lapse because the time of a renewal does not fit.
      if (write.op === "patch" && write.transition === "renew" && isTooLarge(error) && hasMembers(write.merge)) {
        return this.write(key, { ...write, merge: {} });
      }
      if (!(error instanceof PreconditionFailedError)) return unanswered(error);
      return this.#refusal(key, error);
    }
  }

  /** @throws what the store throws, or `record_malformed` */
  async read(key: string): Promise<SeenRecord | undefined> {
    const document = await this.#store.getDocument(this.#shape, key);
    return document === undefined ? undefined : seenRecord(document);
  }

  /** The document as it is stored, its record not judged. @throws what the store throws */
  document(key: string): Promise<Document | undefined> {
    return this.#store.getDocument(this.#shape, key);
  }

  list(options: ListOptions): ReturnType<DocumentStore["list"]> {
    return this.#store.list(this.#shape, options);
  }

  /**
   * The record as soon as it differs from the revision `after`, or as it is when the time is over, whichever is first. A
   * wait that is longer than the store allows ends early.
   *
   * @throws what the store throws, the signal's reason, or `record_malformed`
   */
  async waitFor(
    key: string,
    options: { readonly after: number; readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<SeenRecord | undefined> {
    const { after, timeoutMs, signal } = options;
    // Rounded up to whole milliseconds, the tick of the store's clock, so that a lapse is over when the wait is.
    const timeout = Math.min(Math.ceil(timeoutMs) / 1000, this.#store.limits.waitSecondsMax);
    const { document } = await this.#store.waitFor(this.#shape, key, {
      after,
      timeout,
      ...(signal === undefined ? {} : { signal }),
    });
    return document === null ? undefined : seenRecord(document);
  }

  #send(key: string, write: RecordWrite): Promise<WriteResult> {
    const target = { shape: this.#shape, id: key, if_match: write.if_match };
    switch (write.op) {
      case "put":
        return this.#store.put({ ...target, set: write.set as Fields, ttl: write.ttl });
      case "patch": {
        const { merge, ttl } = write;
        return this.#store.patch({ ...target, merge, ...(ttl === undefined ? {} : { ttl }) });
      }
      case "delete":
        return this.#store.delete(target);
    }
  }

  /** The refusal carries what is there; only where the store held that back it takes a read. */
  async #refusal(key: string, { failures: [failure] }: PreconditionFailedError): Promise<WriteEvent> {
    try {
      if (failure === undefined || failure.current_omitted) return { event: "refused", current: await this.read(key) };
      const { current } = failure;
      return { event: "refused", current: current === null ? undefined : seenRecord(current) };
    } catch (error) {
      // The condition did not hold, that much is sure.
      return { ...unanswered(error), applied: "no" };
    }
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof OnceKvError && error.code === "too_large";
}

function hasMembers(fields: Fields): boolean {
  return Object.keys(fields).length > 0;
}

function unanswered(error: unknown): Unanswered {
  const code = error instanceof OnceKvError ? error.code : undefined;
  return { event: "unanswered", error, fault: faultOf(code), applied: notApplied.has(code) ? "no" : "maybe" };
}

function faultOf(code: OnceKvError["code"] | undefined): Unanswered["fault"] {
  switch (code) {
    case "too_large":
      return "size";
    case "invalid_request":
    case "not_found":
    case "unsupported_media_type":
      return "request";
    case "unauthorized":
    case "forbidden":
      return "access";
    case "record_malformed":
      return "record";
    default:
      return "store";
  }
}
