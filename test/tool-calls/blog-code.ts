import type { DocumentStore, Fields, JsonValue } from "../../src/documents/contract.js";

/*
 * A page on idempotent tool calls shows two functions over a store with `get`, `put`, `if_match: { exists: false }`, per-key
 * ttl and an error whose `status` is 412. Here they are as they stand there (with the parentheses that the page lost after
 * `Date.now`), in what the page leaves to the reader: a store, a key, an effect and a sleep. Their flaws are their own, and
 * what `toolCalls` is for; that they run shows that the store is the one that they were written against.
 */

export type ToolIntent = { [name: string]: JsonValue };
export type ToolResult = JsonValue;

export interface BlogSurroundings {
  readonly store: Pick<DocumentStore, "get" | "put">;
  readonly idempotencyKey: (intent: ToolIntent) => string;
  readonly fireSideEffect: (intent: ToolIntent) => Promise<ToolResult>;
  readonly sleep: (ms: number) => Promise<unknown>;
}

interface Record412 {
  readonly status: number;
}

interface StoredCall {
  readonly status: string;
  readonly result: ToolResult;
  readonly error: string;
}

export interface BlogCode {
  handleToolCall(intent: ToolIntent): Promise<ToolResult>;
  waitForResult(key: string, timeoutMs?: number): Promise<ToolResult>;
}

export function blogCode({ store, idempotencyKey, fireSideEffect, sleep }: BlogSurroundings): BlogCode {
  // The page's store answers `get` with fields of any type.
  const oc = {
    get: async (shape: string, id: string) => (await store.get(shape, id)) as StoredCall | undefined,
    put: (write: { shape: string; id: string; set: Fields; ttl: number; if_match?: { exists: boolean } }) =>
      store.put(write),
  };

  async function handleToolCall(intent: ToolIntent): Promise<ToolResult> {
    const key = idempotencyKey(intent); // e.g. "send_email:order-12345:user-U"

    // Check if we've already handled this intent
    const existing = await oc.get("tool-call", key);
    if (existing) {
      return existing.result; // already fired, return cached result
    }

    // Atomically claim the key with a short pending TTL
    // (so a crash before completion auto-clears the claim)
    try {
      await oc.put({
        shape: "tool-call",
        id: key,
        set: { intent, status: "pending", started_at: Date.now() },
        ttl: 300, // 5 min pending window
        if_match: { exists: false },
      });
    } catch (e) {
      if ((e as Record412).status === 412) {
        // Another worker claimed it first; wait for it to complete
        return await waitForResult(key);
      }
      throw e;
    }

    // We have the claim. Fire the side effect.
    let result: ToolResult;
    try {
      result = await fireSideEffect(intent);
    } catch (e) {
      // Mark failed; let the TTL clean up so retries can try again later
      await oc.put({
        shape: "tool-call",
        id: key,
        set: { intent, status: "failed", error: String(e) },
        ttl: 300,
      });
      throw e;
    }

    // Persist the result. Long TTL so re-issued intents in the next
    // hour return the cached result instead of re-firing.
    await oc.put({
      shape: "tool-call",
      id: key,
      set: { intent, status: "completed", result, completed_at: Date.now() },
      ttl: 3600, // 1 hour
    });

    return result;
  }

  async function waitForResult(key: string, timeoutMs = 30_000): Promise<ToolResult> {
    const start = Date.now();
    while (Date.now() - start < timeoutMs) {
      const r = await oc.get("tool-call", key);
      if (r?.status === "completed") return r.result;
      if (r?.status === "failed") throw new Error(r.error);
      await sleep(100);
    }
    throw new Error("timed out waiting for in-flight tool call");
  }

  return { handleToolCall, waitForResult };
}
