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
  ): Promise<void> {
    const { store, close } = await open();
    const idempotencyKey = ({ type, order, user }: ToolIntent): string => `${type}:order-${order}:user-${user}`;
    try {
      await test(blogCode({ store, idempotencyKey, fireSideEffect: fire, sleep: () => turn() }), store);
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
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const fire = async (): Promise<ToolResult> => {
      fires += 1;
      await finished;
      return { message: fires };
    };
    await withBlogCode(fire, async ({ handleToolCall }) => {
      const calls = Array.from({ length: 20 }, () => handleToolCall(intent));
      for (let turns = 0; turns < 20; turns++) await turn();
      finish();
      for (const result of await Promise.all(calls)) expect(result).toEqual({ message: 1 });
      expect(fires).toBe(1);
    });
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
