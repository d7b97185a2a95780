import type { DocumentStore, Fields } from "../src/documents/contract.js";
import { type Written, WrongResultError } from "./checks.js";

/** How many of the latest writes are read again after a round. */
export const readAgain = 64;

/** The digits of a key's hash that tell nothing apart here; a real key has them too. */
const restOfHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15";

/** What a worker writes to claim a tool call: about 300 bytes as JSON. `attempt` tells one write from another. */
export function claimFields(attempt: number): Fields {
  return {
    status: "pending",
    tool: "send_email",
    fingerprint: `0a1b2c3d${restOfHash}`,
    owner: "worker-07",
    attempt,
    started_at: "2026-01-01T00:00:00.000Z",
    intent: { order: 12345, user: "U", subject: "Your order has been shipped", notify: true },
  };
}

/**
 * Ids as derived keys have them: a tool and a hash, so that neighbours in time are not neighbours on disk. No id comes
 * twice in 2^32.
 */
export class ScatteredIds {
  #number = 0;

  next(): string {
    // Each step can be undone, so different numbers stay different.
    let mixed = Math.imul(this.#number++ ^ 0x5bd1e995, 0x9e3779b1);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
    mixed ^= mixed >>> 13;
    return `send_email:${(mixed >>> 0).toString(16).padStart(8, "0")}${restOfHash}`;
  }
}

/** The latest writes of a case that writes each document once. */
export class LatestWrites {
  readonly #writes: Written[] = [];
  #count = 0;

  add(written: Written): void {
    this.#writes[this.#count++ % readAgain] = written;
  }

  list(): readonly Written[] {
    return this.#writes;
  }
}

/**
 * Documents that are written again and again, each by one caller at a time: the cost of a condition is measured, not the
 * waiting of two callers for one document.
 */
export class ExistingDocuments {
  readonly #idle: Written[];

  /** Writes `count` documents, at most as many as fit in a batch. */
  static async create(
    store: DocumentStore,
    options: { readonly shape: string; readonly ids: ScatteredIds; readonly count: number },
  ): Promise<ExistingDocuments> {
    const { shape, ids, count } = options;
    const documents = Array.from({ length: count }, () => ({ id: ids.next(), fields: claimFields(0) }));
    const { revision } = await store.batch(documents.map(({ id, fields: set }) => ({ op: "put", shape, id, set })));
    return new ExistingDocuments(documents.map((document) => ({ ...document, revision })));
  }

  private constructor(documents: Written[]) {
    this.#idle = documents;
  }

  /** The document that has been idle for longest. */
  take(): Written {
    const document = this.#idle.shift();
    if (document === undefined) throw new WrongResultError("there are more callers than documents");
    return document;
  }

  /** Gives a document back, as it must be stored from now on. */
  giveBack(document: Written): void {
    this.#idle.push(document);
  }

  /** The documents that were given back last. */
  latest(): readonly Written[] {
    return this.#idle.slice(-readAgain);
  }
}
