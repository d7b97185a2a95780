import { createHash } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { ManualClock } from "../../src/base/manual-clock.js";
import { getContent, putContent } from "../../src/content/index.js";
import type { DocumentStore } from "../../src/documents/contract.js";
import { openMemoryStore } from "../../src/level/index.js";

async function openStore() {
  const clock = new ManualClock();
  const store = await openMemoryStore({ clock });
  onTestFinished(() => store.close());
  const secondsLeft = (expiresAt: string | null): number | null =>
    expiresAt === null ? null : (Date.parse(expiresAt) - clock.wallNow()) / 1000;
  return { clock, store, secondsLeft };
}

describe("content", () => {
  it.each([[null], [0], [""], [[]], [{ b: [1, { c: "é" }], a: false }]])(
    "that is JSON comes back: %j",
    async (value) => {
      const { store } = await openStore();
      const { id, was_replay } = await putContent(store, "blob", value);
      expect(id).toMatch(/^json-sha256-[0-9a-f]{64}$/);
      expect(was_replay).toBe(false);
      expect(await getContent(store, "blob", id)).toEqual({ kind: "json", value });
    },
  );

  it.each([[[]], [[0]], [[255, 0, 128, 10]]])(
    "that is bytes comes back, named by their sha256: %j",
    async (numbers) => {
      const { store } = await openStore();
      const bytes = Uint8Array.from(numbers);
      const { id } = await putContent(store, "blob", bytes);
      expect(id).toBe(`sha256-${createHash("sha256").update(bytes).digest("hex")}`);
      const content = await getContent(store, "blob", id);
      expect(content).toEqual({ kind: "bytes", bytes });
    },
  );

  it("is one document when it is written again, however it is spelled", async () => {
    const { store, clock } = await openStore();
    const first = await putContent(store, "blob", { a: 1, b: -0 });
    clock.advance(1000);
    const second = await putContent(store, "blob", { b: 0, a: 1, c: undefined });
    expect(second).toEqual({ ...first, was_replay: true });
    const part = new Uint8Array(Buffer.from("--text--").buffer, 0, 0);
    expect((await putContent(store, "blob", part)).id).toBe((await putContent(store, "blob", new Uint8Array())).id);
  });

  it("of bytes is never content of JSON, not even of the same text", async () => {
    const { store } = await openStore();
    const json = await putContent(store, "blob", { a: 1 });
    const bytes = await putContent(store, "blob", new TextEncoder().encode('{"a":1}'));
    expect(bytes.was_replay).toBe(false);
    expect(bytes.id).toBe(json.id.replace("json-", ""));
    expect(await getContent(store, "blob", bytes.id)).toMatchObject({ kind: "bytes" });
  });

  it("is written by one of many who write it at once", async () => {
    const { store } = await openStore();
    const all = await Promise.all(Array.from({ length: 20 }, () => putContent(store, "blob", "same")));
    expect(all.filter((each) => !each.was_replay)).toHaveLength(1);
    expect(new Set(all.map((each) => each.id)).size).toBe(1);
  });

  it("that is not there is undefined", async () => {
    const { store } = await openStore();
    expect(await getContent(store, "blob", `sha256-${"0".repeat(64)}`)).toBeUndefined();
  });
});

describe("the life of content", () => {
  it("is prolonged by who needs it for longer, and never shortened", async () => {
    const { store, clock, secondsLeft } = await openStore();
    const put = async (ttl?: number | null) => secondsLeft((await putContent(store, "blob", "x", { ttl })).expires_at);
    expect(await put(100)).toBe(100);
    clock.advance(50_000);
    expect(await put(10)).toBe(50);
    expect(await put(100)).toBe(100);
    expect(await put(null)).toBeNull();
    expect(await put(5)).toBeNull();
    expect(await put()).toBeNull();
  });

  it("begins anew after its end", async () => {
    const { store, clock } = await openStore();
    const { id } = await putContent(store, "blob", "x", { ttl: 10 });
    clock.advance(10_000);
    expect(await getContent(store, "blob", id)).toBeUndefined();
    expect(await putContent(store, "blob", "x", { ttl: 10 })).toMatchObject({ id, was_replay: false });
  });

  it("is not cut short by somebody who read it before another prolonged it", async () => {
    const { store, secondsLeft } = await openStore();
    await putContent(store, "blob", "x", { ttl: 10 });
    let overtaken = false;
    const slow: DocumentStore = Object.assign(Object.create(store) as DocumentStore, {
      limits: store.limits,
      put: (write: Parameters<DocumentStore["put"]>[0]) => store.put(write),
      getDocument: async (shape: string, id: string) => {
        const document = await store.getDocument(shape, id);
        if (!overtaken) {
          overtaken = true;
          await putContent(store, "blob", "x", { ttl: 1000 });
        }
        return document;
      },
      patch: (write: Parameters<DocumentStore["patch"]>[0]) => store.patch(write),
    });
    expect(secondsLeft((await putContent(slow, "blob", "x", { ttl: 100 })).expires_at)).toBe(1000);
  });
});

describe("content that cannot be kept or trusted", () => {
  it("is refused with the limit when it is too large", async () => {
    const { store } = await openStore();
    const tooLong = putContent(store, "blob", "x".repeat(1_100_000));
    await expect(tooLong).rejects.toMatchObject({ code: "too_large", message: expect.stringContaining("1048576") });
    await expect(putContent(store, "blob", new Uint8Array(800_000))).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringContaining("786432"),
    });
  });

  it.each([[undefined], [() => 1], [new Date(0)], [Number.NaN]])(
    "is refused when it is not JSON: %s",
    async (value) => {
      const { store } = await openStore();
      await expect(putContent(store, "blob", value)).rejects.toMatchObject({
        code: "invalid_request",
        path: "content",
      });
    },
  );

  it.each([
    ["JSON", { a: 1 }, { format: 1, kind: "json", value: { a: 2 } }],
    ["bytes", new Uint8Array([1, 2]), { format: 1, kind: "bytes", base64: "AQM=" }],
    ["another kind", { a: 1 }, { format: 1, kind: "bytes", base64: "AQM=" }],
    ["another format", { a: 1 }, { format: 2, kind: "json", value: { a: 1 } }],
    ["no content", { a: 1 }, { hello: "world" }],
  ])("is not given out, nor taken for written, when it was overwritten (%s)", async (_, content, set) => {
    const { store } = await openStore();
    const { id } = await putContent(store, "blob", content);
    await store.put({ shape: "blob", id, set });
    const damaged = { code: "store_damaged", message: expect.stringContaining(id) };
    await expect(getContent(store, "blob", id)).rejects.toMatchObject(damaged);
    await expect(putContent(store, "blob", content)).rejects.toMatchObject(damaged);
    await store.delete({ shape: "blob", id });
    expect(await putContent(store, "blob", content)).toMatchObject({ id, was_replay: false });
  });

  it("is not looked for under an id that is none", async () => {
    const { store } = await openStore();
    await expect(getContent(store, "blob", "report")).rejects.toMatchObject({ code: "invalid_request", path: "id" });
    const options = { tll: 1 } as object;
    await expect(putContent(store, "blob", 1, options)).rejects.toMatchObject({ path: "tll" });
    await expect(putContent(store, "blob", 1, { ttl: 0 })).rejects.toMatchObject({ path: "ttl" });
  });
});
