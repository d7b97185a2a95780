import type { StandardSchemaV1 } from "@standard-schema/spec";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../src/base/manual-clock.js";
import { openMemoryStore } from "../../src/level/index.js";

/** A Standard Schema made by hand; `judge` gives the issues. */
function schema(judge: (value: unknown) => StandardSchemaV1.Result<unknown> | Promise<never>): StandardSchemaV1 {
  return { "~standard": { version: 1, vendor: "test", validate: judge as StandardSchemaV1["~standard"]["validate"] } };
}

const numbered = {
  type: "object",
  properties: { n: { type: "integer" }, tags: { type: "array", items: { type: "string" } } },
  required: ["n"],
};

describe("a declared shape", () => {
  it("judges every write by a JSON Schema: put, the merged fields of a patch, and each operation of a batch", async () => {
    const store = await openMemoryStore({ shapes: { note: { schema: numbered } } });
    await store.put({ shape: "note", id: "a", set: { n: 1 } });
    await expect(store.put({ shape: "note", id: "a", set: { n: "1" } })).rejects.toMatchObject({
      code: "invalid_request",
      path: "set.n",
    });
    await expect(store.put({ shape: "note", id: "a", set: { n: 1, tags: ["x", 2] } })).rejects.toMatchObject({
      path: "set.tags[1]",
    });
    await store.patch({ shape: "note", id: "a", merge: { tags: ["x"] } });
    await expect(store.patch({ shape: "note", id: "a", merge: { n: null } })).rejects.toMatchObject({
      code: "invalid_request",
    });
    await expect(
      store.batch([
        { op: "put", shape: "note", id: "b", set: { n: 2 } },
        { op: "put", shape: "note", id: "c", set: {} },
      ]),
    ).rejects.toMatchObject({ code: "invalid_request" });
    expect(await store.get("note", "a")).toEqual({ n: 1, tags: ["x"] });
    expect(await store.get("note", "b")).toBeUndefined();
    await store.put({ shape: "other", id: "a", set: { anything: true } });
    await store.close();
  });

  it("judges by a Standard Schema, whose output and changes to its input are not stored", async () => {
    const judge = schema((value) => {
      const fields = value as { n?: number };
      if (typeof fields.n !== "number") return { issues: [{ message: "must be a number", path: ["n"] }] };
      fields.n += 1;
      return { value: { n: "changed" } };
    });
    const store = await openMemoryStore({ shapes: { note: { schema: judge } } });
    await store.put({ shape: "note", id: "a", set: { n: 1 } });
    expect(await store.get("note", "a")).toEqual({ n: 1 });
    await expect(store.put({ shape: "note", id: "a", set: {} })).rejects.toMatchObject({
      path: "set.n",
      message: "set.n: must be a number",
    });
    await store.close();
  });

  it("refuses a schema that answers with a promise, and a schema that is none", async () => {
    const store = await openMemoryStore({
      shapes: { note: { schema: schema(() => Promise.reject(new Error("late"))) } },
    });
    await expect(store.put({ shape: "note", id: "a", set: {} })).rejects.toMatchObject({ code: "invalid_request" });
    await store.close();
    await expect(openMemoryStore({ shapes: { note: { schema: { type: "no such type" } } } })).rejects.toMatchObject({
      path: "shapes.note.schema",
    });
    await expect(openMemoryStore({ shapes: { note: { ttl: 0 } } })).rejects.toMatchObject({ code: "invalid_request" });
    await expect(openMemoryStore({ shapes: { "No Name": {} } })).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("gives a put without a ttl its own; null is for ever, and a patch keeps the deadline", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, shapes: { note: { ttl: 10 } } });
    const { expires_at } = await store.put({ shape: "note", id: "a", set: {} });
    expect(expires_at).toBe(new Date(clock.wallNow() + 10_000).toISOString());
    expect((await store.put({ shape: "note", id: "b", set: {}, ttl: null })).expires_at).toBeNull();
    expect((await store.patch({ shape: "note", id: "a", merge: { n: 1 } })).expires_at).toBe(expires_at);
    await store.close();
  });

  it("that writes to the same document while it judges comes after the write that it judges", async () => {
    let nested: Promise<unknown> | undefined;
    const store = await openMemoryStore({
      shapes: {
        note: {
          schema: schema((value) => {
            if ((value as { outer?: boolean }).outer === true && nested === undefined) {
              nested = store.put({ shape: "note", id: "a", set: { nested: true }, if_match: { revision: 1 } });
              nested.catch(() => {});
            }
            return { value };
          }),
        },
      },
    });
    await store.put({ shape: "note", id: "a", set: {} });
    await store.patch({ shape: "note", id: "a", merge: { outer: true }, if_match: { revision: 1 } });
    // Both were conditioned on revision 1: exactly one may win, and it is the one that came first.
    await expect(nested).rejects.toMatchObject({ code: "precondition_failed" });
    expect(await store.get("note", "a")).toEqual({ outer: true });
    expect(store.stats().locks).toBe(0);
    await store.close();
  });

  it("may write to other documents while it judges", async () => {
    const written: Promise<unknown>[] = [];
    const store = await openMemoryStore({
      shapes: {
        note: {
          schema: schema((value) => {
            written.push(store.put({ shape: "audit", id: `${written.length}`, set: {} }));
            return { value };
          }),
        },
      },
    });
    await store.put({ shape: "note", id: "a", set: {} });
    await store.patch({ shape: "note", id: "a", merge: { n: 1 } });
    await Promise.all(written);
    expect((await store.list("audit")).documents.map(({ id }) => id)).toEqual(["0", "1"]);
    expect(await store.get("note", "a")).toEqual({ n: 1 });
    await store.close();
  });

  it("whose schema throws leaves no lock behind", async () => {
    const fault = new Error("in the schema");
    let broken = true;
    const store = await openMemoryStore({
      shapes: {
        note: {
          schema: schema((value) => {
            if (broken) throw fault;
            return { value };
          }),
        },
      },
    });
    await expect(store.put({ shape: "note", id: "a", set: {} })).rejects.toBe(fault);
    broken = false;
    await store.put({ shape: "note", id: "a", set: {} });
    broken = true;
    await expect(store.patch({ shape: "note", id: "a", merge: {} })).rejects.toBe(fault);
    broken = false;
    await store.patch({ shape: "note", id: "a", merge: { n: 1 } });
    expect(store.stats().locks).toBe(0);
    await store.close();
  });
});
