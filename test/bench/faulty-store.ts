import type { DocumentStore, PutOperation, WriteResult } from "../../src/documents/contract.js";
import { PreconditionFailedError } from "../../src/documents/precondition-failed.js";

/** A way of being wrong: what `put` does in place of what it should. */
export type PutFault = (store: DocumentStore, write: PutOperation) => Promise<WriteResult>;

/** A store that is as good as the given one, but for its `put`. */
export function withFault(store: DocumentStore, fault: PutFault): DocumentStore {
  return new Proxy(store, {
    get(target, name): unknown {
      if (name === "put") return (write: PutOperation) => fault(target, write);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Writes whatever the condition says. */
export const ignoresConditions: PutFault = (store, { if_match, ...write }) => store.put(write);

/** Answers as if it had written. */
export const storesNothing: PutFault = async (store, write) => {
  const present = await store.getDocument(write.shape, write.id);
  if (present !== undefined && write.if_match?.exists === false) return store.put(write);
  return { revision: 1_000_000, expires_at: null, created: present === undefined };
};

/** Writes, but not what it was given. */
export const storesOtherFields: PutFault = (store, write) =>
  store.put({ ...write, set: { ...write.set, owner: "somebody else" } });

/** Lets no conditional write win. */
export const refusesAll: PutFault = async (store, write) => {
  if (write.if_match === undefined) return store.put(write);
  const { shape, id, if_match: expected } = write;
  const current = (await store.getDocument(shape, id)) ?? null;
  throw new PreconditionFailedError([{ index: 0, shape, id, expected, current }]);
};

/** Refuses what it should, and shows the loser nothing. */
export const hidesTheWinner: PutFault = async (store, write) => {
  try {
    return await store.put(write);
  } catch (error) {
    if (!(error instanceof PreconditionFailedError)) throw error;
    throw new PreconditionFailedError(error.failures.map((failure) => ({ ...failure, current: null })));
  }
};

/** Fails on the way. */
export const breaksDown: PutFault = () => Promise.reject(new Error("the connection is gone"));
