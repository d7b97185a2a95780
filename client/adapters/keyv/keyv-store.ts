import { EventEmitter } from "node:events";
import { InvalidRequestError } from "../../../src/base/errors.js";
import type { AnyShapes, Document, DocumentStore } from "../../../src/documents/contract.js";
import { checkShape } from "../../../src/documents/names.js";
import { PreconditionFailedError } from "../../../src/documents/precondition-failed.js";
import { checkBoolean, readMembers } from "../../../src/documents/request-members.js";
import { kindOf } from "../../../src/documents/value-kind.js";
import { checkKey, type Entry, toEntry } from "./entry.js";
import { entryId, entryKey, idPrefixes } from "./entry-id.js";
import { deleteAll, readAll, writeAll } from "./portions.js";

/** Options of `keyvStore`. */
export interface KeyvStoreOptions {
  /** The shape of the documents, "keyv" when absent. It belongs to this adapter: `clear` without a namespace empties it. */
  readonly shape?: string | undefined;
  /** true: `disconnect` closes the store. When absent the store stays open: whoever opened it closes it. */
  readonly closeStore?: boolean | undefined;
}

/** What Keyv reads of an adapter's options, and whatever else is put there. */
export interface KeyvStoreFacts {
  dialect: string;
  url: string;
  [name: string]: unknown;
}

/** An entry as Keyv's `setMany` gives it. */
export interface KeyvStoreEntry {
  readonly key: string;
  readonly value: unknown;
  /** Milliseconds. */
  readonly ttl?: number | undefined;
}

const optionNames: ReadonlySet<string> = new Set(["shape", "closeStore"]);

/**
 * A storage adapter for Keyv over a store:
 *
 *     const cache = new Keyv({ store: keyvStore(store), namespace: "sessions" });
 *
 * Each Keyv needs an adapter of its own, since it writes its namespace into it; they may share the store.
 *
 * @throws InvalidRequestError
 */
export function keyvStore<Shapes = AnyShapes>(store: DocumentStore<Shapes>, options: KeyvStoreOptions = {}): KeyvStore {
  readMembers(options, "", "the options", optionNames);
  const shape = checkShape(options.shape ?? "keyv", "shape");
  const closes = options.closeStore === undefined ? false : checkBoolean(options.closeStore, "closeStore");
  // Entries have their own shape: how the others are typed does not matter here.
  return new KeyvStore(store as unknown as DocumentStore, shape, closes);
}

/**
 * The adapter. It takes keys as Keyv makes them, `namespace:key` by default, and is also usable by itself.
 *
 * Every method rejects with what the store throws. "error" is emitted only where Keyv would otherwise drop it, in `get`.
 */
export class KeyvStore extends EventEmitter {
  /**
   * Keyv iterates only over adapters whose `dialect` or `url` names one of seven databases that it knows, and cannot be made
   * at all when both are missing. The dialect is the true one, and the url has the word.
   */
  opts: KeyvStoreFacts = { dialect: "oncekv", url: "oncekv:iterates-like-etcd" };
  /** Set by Keyv. What `clear` removes: all keys that begin with it and ":"; all keys when it is absent or "". */
  namespace?: string | undefined;
  readonly #store: DocumentStore;
  readonly #shape: string;
  readonly #closes: boolean;

  constructor(store: DocumentStore, shape: string, closes: boolean) {
    super();
    this.#store = store;
    this.#shape = shape;
    this.#closes = closes;
    // Each Keyv adds a listener; how many there are is not this adapter's concern.
    this.setMaxListeners(0);
  }

  /** The value of a key; undefined when it is absent. */
  async get<Value>(key: string): Promise<Value | undefined> {
    try {
      return heldValue<Value>(await this.#store.getDocument(this.#shape, this.#idOf(key)));
    } catch (error) {
      // Keyv takes a failed `get` for a miss, unless it was made with `throwOnErrors`.
      if (this.listenerCount("error") > 0) this.emit("error", error);
      throw error;
    }
  }

  /** The values of the keys, in their order. Up to 1,000 keys come from one snapshot. */
  async getMany<Value>(keys: readonly string[]): Promise<(Value | undefined)[]> {
    const documents = await this.#read(keys);
    return documents.map((document) => heldValue<Value>(document));
  }

  /** @param ttl milliseconds; none and 0: no end @throws InvalidRequestError, TooLargeError; nothing is written then */
  async set(key: string, value: unknown, ttl?: number): Promise<void> {
    await this.#store.put({ shape: this.#shape, ...toEntry(key, value, ttl, "", this.#store.limits) });
  }

  /**
   * Sets all entries, of two with the same key the last. They are one commit up to 1,000 entries and 8 MiB, beyond that
   * several; what is not valid or too large is refused before the first.
   *
   * @throws InvalidRequestError, TooLargeError
   */
  setMany(entries: readonly KeyvStoreEntry[]): Promise<void> {
    // Keyv declares this as void, and gives what it comes to back as its own answer: whether each entry was set.
    const set: Promise<unknown> = this.#setMany(entries);
    return set as Promise<void>;
  }

  /** Removes a key. @returns whether it was there */
  async delete(key: string): Promise<boolean> {
    try {
      await this.#store.delete({ shape: this.#shape, id: this.#idOf(key), if_match: { exists: true } });
      return true;
    } catch (error) {
      if (error instanceof PreconditionFailedError) return false;
      throw error;
    }
  }

  /** Removes keys, up to 1,000 in one commit. @returns whether at least one of them was there */
  async deleteMany(keys: readonly string[]): Promise<boolean> {
    return deleteAll(this.#store, this.#shape, this.#idsOf(keys));
  }

  async has(key: string): Promise<boolean> {
    return (await this.#store.getDocument(this.#shape, this.#idOf(key))) !== undefined;
  }

  async hasMany(keys: readonly string[]): Promise<boolean[]> {
    return (await this.#read(keys)).map((document) => document !== undefined);
  }

  /** Removes the keys of the namespace, in as many commits as it takes. What others set meanwhile may go or stay. */
  async clear(): Promise<void> {
    const most = this.#store.limits.batchOperationsMax;
    let ids: string[] = [];
    for await (const { id } of this.#entries(this.namespace)) {
      ids.push(id);
      if (ids.length < most) continue;
      await deleteAll(this.#store, this.#shape, ids);
      ids = [];
    }
    await deleteAll(this.#store, this.#shape, ids);
  }

  /** Pairs of key and value, as they were set: of a namespace, or of all when it is absent or "". */
  async *iterator<Value>(
    namespace?: string | undefined,
  ): AsyncGenerator<Array<string | Awaited<Value> | undefined>, void> {
    for await (const { key, document } of this.#entries(namespace)) {
      yield [key, heldValue<Awaited<Value>>(document)];
    }
  }

  /** Closes nothing unless the adapter was made with `closeStore`. */
  async disconnect(): Promise<void> {
    if (this.#closes) await this.#store.close();
  }

  async #setMany(entries: readonly KeyvStoreEntry[]): Promise<boolean[]> {
    if (!Array.isArray(entries)) throw new InvalidRequestError("entries", `must be an array, not ${kindOf(entries)}`);
    const byId = new Map<string, Entry>();
    for (const [index, { key, value, ttl }] of entries.entries()) {
      const entry = toEntry(key, value, ttl, `entries[${index}]`, this.#store.limits);
      byId.set(entry.id, entry);
    }
    await writeAll(this.#store, this.#shape, [...byId.values()]);
    return entries.map(() => true);
  }

  #read(keys: readonly string[]): Promise<(Document | undefined)[]> {
    return readAll(this.#store, this.#shape, this.#idsOf(keys));
  }

  async *#entries(
    namespace: string | undefined,
  ): AsyncGenerator<{ readonly id: string; readonly key: string; readonly document: Document }, void> {
    const keyPrefix = namespace === undefined || namespace === "" ? "" : `${namespace}:`;
    for (const prefix of idPrefixes(keyPrefix, this.#store.limits)) {
      for await (const document of this.#store.scan(this.#shape, { prefix })) {
        const key = entryKey(document.id, document.fields);
        if (key?.startsWith(keyPrefix)) yield { id: document.id, key, document };
      }
    }
  }

  #idsOf(keys: readonly string[]): string[] {
    return keys.map((key, index) => entryId(checkKey(key, `keys[${index}]`), this.#store.limits));
  }

  #idOf(key: string): string {
    return entryId(checkKey(key, "key"), this.#store.limits);
  }
}

/** What Keyv set: JSON of its caller's choice. */
function heldValue<Value>(document: Document | undefined): Value | undefined {
  return document?.fields["value"] as Value | undefined;
}
