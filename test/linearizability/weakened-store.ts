import type {
  BatchOperation,
  Commit,
  Document,
  DocumentKey,
  DocumentStore,
  ListOptions,
  WatchOptions,
} from "../../src/documents/contract.js";
import type { EmbeddedStore } from "../../src/level/index.js";

/** A promise that a store is made to break, to see that it is found. */
export const weaknesses = [
  "forgets_write_ids",
  "reads_stale",
  "splits_batches",
  "reads_many_apart",
  "list_misses_one",
  "list_mixes_moments",
  "list_names_another_moment",
  "watch_drops_one_on_resuming",
  "watch_repeats_one_on_resuming",
  "watch_tears_commits",
  "watch_shows_what_is_not_durable",
] as const;

export type Weakness = (typeof weaknesses)[number];

/** The store without one of its promises. */
export function weakened(store: EmbeddedStore, weakness: Weakness): DocumentStore {
  const broken = breaks[weakness](store);
  return new Proxy<DocumentStore>(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(broken, name) ?? Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

const breaks: { readonly [Name in Weakness]: (store: EmbeddedStore) => Partial<DocumentStore> } = {
  forgets_write_ids: (store) => ({
    batch: (operations: readonly BatchOperation[]) => store.batch(operations),
    put: ({ write_id: _, ...write }) => store.put(write),
    patch: ({ write_id: _, ...write }) => store.patch(write),
  }),

  reads_stale: (store) => {
    const remembered = new Map<string, Document | undefined>();
    return {
      getDocument: async (shape: string, id: string) => {
        const before = remembered.get(id);
        remembered.set(id, await store.getDocument(shape, id));
        return before ?? remembered.get(id);
      },
    };
  },

  splits_batches: (store) => ({
    batch: async (operations: readonly BatchOperation[], identity) => {
      if (operations.length < 2 || operations.some((operation) => operation.if_match !== undefined))
        return store.batch(operations, identity);
      const results = [];
      for (const operation of operations) results.push((await store.batch([operation])).results[0]);
      const told = results.flatMap((result) => (result === undefined ? [] : [result]));
      return { revision: told.at(-1)?.revision ?? 0, results: told };
    },
  }),

  reads_many_apart: (store) => ({
    getMany: async (keys: readonly DocumentKey[]) => {
      const found = [];
      for (const { shape, id } of keys) {
        found.push(await store.getDocument(shape, id));
        await pause();
      }
      return found;
    },
  }),

  list_misses_one: (store) => ({
    list: async (shape: string, options?: ListOptions) => {
      const page = await store.list(shape, options);
      return options?.after === undefined ? page : { ...page, documents: page.documents.slice(1) };
    },
  }),

  list_mixes_moments: (store) => ({
    list: async (shape: string, options?: ListOptions) => {
      const page = await store.list(shape, options);
      await pause();
      const later = await store.list(shape, options);
      const half = Math.ceil(page.documents.length / 2);
      const last = page.documents[half - 1]?.id ?? "";
      const rest = later.documents.filter(({ id }) => (options?.reverse === true ? id < last : id > last));
      return { ...later, documents: [...page.documents.slice(0, half), ...rest] };
    },
  }),

  list_names_another_moment: (store) => ({
    list: async (shape: string, options?: ListOptions) => {
      const page = await store.list(shape, options);
      await pause();
      return { ...page, revision: store.revision };
    },
  }),

  watch_drops_one_on_resuming: (store) => ({
    watch: (options?: WatchOptions) =>
      edited(store, options, async function* (commits) {
        let isFirst = (options?.since ?? 0) > 0;
        for await (const commit of commits) {
          if (!isFirst || commit.changes.length === 0) yield commit;
          if (commit.changes.length > 0) isFirst = false;
        }
      }),
  }),

  watch_repeats_one_on_resuming: (store) => ({
    watch: (options?: WatchOptions) => {
      const since = options?.since ?? 0;
      return store.watch(since > 0 ? { ...options, since: since - 1 } : options);
    },
  }),

  watch_tears_commits: (store) => ({
    watch: (options?: WatchOptions) =>
      edited(store, options, async function* (commits) {
        for await (const { revision, changes } of commits) yield { revision, changes: changes.slice(0, 2) };
      }),
  }),

  // One write at a time, and watchers are told of it before the store is: right as long as nothing goes wrong in between.
  watch_shows_what_is_not_durable: (store) => {
    const listeners = new Set<(commit: Commit) => void>();
    let turn: Promise<unknown> = Promise.resolve();
    return {
      batch: (operations: readonly BatchOperation[], identity) => {
        const answer = turn.then(async () => {
          const early = await foretell(store, operations);
          if (early !== undefined) for (const listener of listeners) listener(early);
          if (early !== undefined) await new Promise((resolve) => setTimeout(resolve, 40));
          return store.batch(operations, identity);
        });
        turn = answer.catch(() => {});
        return answer;
      },
      watch: (options?: WatchOptions) => watchEarly(store, options, listeners),
    };
  },
};

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 15));
}

function edited(
  store: EmbeddedStore,
  options: WatchOptions | undefined,
  edit: (commits: AsyncIterable<Commit>) => AsyncGenerator<Commit>,
): AsyncIterable<Commit> {
  // Begins at the call, as a watch must.
  return edit(store.watch(options));
}

/** The commit that a batch will be; undefined where that cannot be told beforehand. */
async function foretell(store: EmbeddedStore, operations: readonly BatchOperation[]): Promise<Commit | undefined> {
  const revision = store.revision + 1;
  const instant = new Date(store.now()).toISOString();
  const changes: Commit["changes"][number][] = [];
  for (const operation of operations) {
    if (operation.op !== "put" || operation.if_match !== undefined) return undefined;
    const { shape, id, set: fields, ttl } = operation;
    const before = await store.getDocument(shape, id);
    const document = {
      shape,
      id,
      fields,
      revision,
      created_revision: before?.created_revision ?? revision,
      created_at: before?.created_at ?? instant,
      updated_at: instant,
      expires_at: typeof ttl === "number" ? new Date(store.now() + ttl * 1000).toISOString() : null,
      as_of: instant,
    };
    changes.push({ type: "put", shape, id, document });
  }
  return { revision, changes };
}

async function* watchEarly(
  store: EmbeddedStore,
  options: WatchOptions | undefined,
  listeners: Set<(commit: Commit) => void>,
): AsyncGenerator<Commit> {
  const queue: Commit[] = [];
  let wake: (() => void) | undefined;
  const listener = (commit: Commit): void => {
    queue.push(commit);
    wake?.();
  };
  listeners.add(listener);
  const real = store.watch(options);
  let failed: unknown;
  const reading = (async () => {
    for await (const commit of real) listener(commit);
  })().catch((error: unknown) => {
    failed = error;
    wake?.();
  });
  let last = options?.since ?? 0;
  try {
    for (;;) {
      const commit = queue.shift();
      if (failed !== undefined) throw failed;
      if (commit === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else if (commit.revision > last) {
        last = commit.revision;
        yield commit;
      }
    }
  } finally {
    listeners.delete(listener);
    await real.return?.();
    await reading;
  }
}
