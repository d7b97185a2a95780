import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import type { DocumentStore } from "../../src/documents/contract.js";
import { type BlogCode, blogCode, type ToolIntent, type ToolResult } from "./blog-code.js";

/** A store for one test, and what ends it. */
export interface BlogStore {
  readonly store: DocumentStore;
  close(): Promise<void>;
}

const intent: ToolIntent = { type: "send_email", order: "12345", user: "U" };
const key = "send_email:order-12345:user-U";

/** The page's code over a store: call it within a `describe`. */
export function blogCodeSuite(open: () => Promise<BlogStore>): void {
  async function withBlogCode(
    fire: (intent: ToolIntent) => Promise<ToolResult>,
    test: (code: BlogCode, store: DocumentStore) => Promise<void>,
    around: (store: DocumentStore) => Pick<DocumentStore, "get" | "put"> = (store) => store,
  ): Promise<void> {
    const { store, close } = await open();
    const idempotencyKey = ({ type, order, user }: ToolIntent): string => `${type}:order-${order}:user-${user}`;
    try {
      await test(blogCode({ store: around(store), idempotencyKey, fireSideEffect: fire, sleep: () => turn() }), store);
    } finally {
      await close();
    }
  }

  it("fires once and returns the stored result afterwards", async () => {
    let fires = 0;
    const fire = async (): Promise<ToolResult> => ({ message: ++fires });
    await withBlogCode(fire, async ({ handleToolCall }, store) => {
      expect(await handleToolCall(intent)).toEqual({ message: 1 });
      expect(await handleToolCall(intent)).toEqual({ message: 1 });
      expect(fires).toBe(1);
      const document = await store.getDocument("tool-call", key);
      expect(document?.fields).toMatchObject({ intent, status: "completed", result: { message: 1 } });
      expect(Date.parse(document?.expires_at ?? "") - Date.parse(document?.updated_at ?? "")).toBe(3_600_000);
    });
  });

  it("lets one of many callers win the claim; the losers get 412 and wait for its result", async () => {
    let fires = 0;
    let lost = 0;
    const fire = async (): Promise<ToolResult> => ({ message: ++fires });
    // All look before anybody claims: who looks later gets the pending record, whose result is undefined.
    const allLooked = new Countdown(20);
    const around = (store: DocumentStore): Pick<DocumentStore, "get" | "put"> => ({
      async get(shape, id) {
        const found = await store.get(shape, id);
        allLooked.count();
        return found;
      },
      async put(write) {
        await allLooked.done;
        return store.put(write).catch((error: unknown) => {
          lost += 1;
          throw error;
        });
      },
    });
    const test = async ({ handleToolCall }: BlogCode): Promise<void> => {
      const results = await Promise.all(Array.from({ length: 20 }, () => handleToolCall(intent)));
      for (const result of results) expect(result).toEqual({ message: 1 });
      expect([fires, lost]).toEqual([1, 19]);
    };
    await withBlogCode(fire, test, around);
  });

  it("stores a failure, which those who wait are given", async () => {
    const fire = (): Promise<ToolResult> => Promise.reject(new Error("mail server is down"));
    await withBlogCode(fire, async ({ handleToolCall, waitForResult }) => {
      await expect(handleToolCall(intent)).rejects.toThrow("mail server is down");
      await expect(waitForResult(key)).rejects.toThrow("Error: mail server is down");
    });
  });

  it("gives up waiting in its own time", async () => {
    await withBlogCode(
      async () => null,
      async ({ waitForResult }) => {
        await expect(waitForResult("send_email:nobody", 1)).rejects.toThrow(
          "timed out waiting for in-flight tool call",
        );
      },
    );
  });
}

/** Done when it was counted down; counting on is no matter. */
class Countdown {
  #left: number;
  #finish: () => void = () => {};
  readonly done = new Promise<void>((resolve) => {
    this.#finish = resolve;
  });

  constructor(from: number) {
    this.#left = from;
  }

  count(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#finish();
  }
}
