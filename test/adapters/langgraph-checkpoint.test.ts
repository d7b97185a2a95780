import { BaseCheckpointSaver, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkpointSaver } from "../../client/adapters/langgraph-checkpoint/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { openMemoryStore } from "../../src/level/index.js";
import { FaultyNetwork } from "../tool-calls/faulty-network.js";
import { settled } from "../tool-calls/scene.js";

const step = { source: "loop", step: 0, parents: {} } as const;

async function openScene() {
  const clock = new ManualClock();
  const store = await openMemoryStore({ clock });
  onTestFinished(() => store.close());
  const saver = checkpointSaver(BaseCheckpointSaver, store);
  return { clock, store, saver };
}

type Saver = Awaited<ReturnType<typeof openScene>>["saver"];

function at(thread_id: string, checkpoint_ns = "", checkpoint_id?: string) {
  return { configurable: { thread_id, checkpoint_ns, ...(checkpoint_id === undefined ? {} : { checkpoint_id }) } };
}

/** Puts a checkpoint that holds this value and returns its id. */
async function put(saver: Saver, thread: string, value: unknown, ns = "", id = uuid6(0)): Promise<string> {
  const checkpoint = { ...emptyCheckpoint(), id, channel_values: { value }, channel_versions: { value: 1 } };
  await saver.put(at(thread, ns), checkpoint, step, { value: 1 });
  return id;
}

async function valuesOf(saver: Saver, ...given: Parameters<Saver["list"]>): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const { checkpoint } of saver.list(...given)) values.push(checkpoint.channel_values["value"]);
  return values;
}

async function valueAt(saver: Saver, config: Parameters<Saver["getTuple"]>[0]): Promise<unknown> {
  return (await saver.getTuple(config))?.checkpoint.channel_values["value"];
}

describe("a checkpoint", () => {
  it("comes back whole however large it is, and one that breaks off half way leaves the thread as it was", async () => {
    const { store } = await openScene();
    const network = new FaultyNetwork(store);
    const saver = checkpointSaver(BaseCheckpointSaver, network.store);
    await put(saver, "thread", "small");
    const large = "😀 \u0000 é".repeat(150_000);
    network.fault("undefined", "held");
    const broken = put(saver, "thread", large).catch((error: unknown) => error);
    await settled();
    network.down = true;
    network.deliver();
    expect(await broken).toMatchObject({ code: "unavailable" });
    network.down = false;
    expect(await valueAt(saver, at("thread"))).toBe("small");
    const id = await put(saver, "thread", large);
    expect((await valueAt(saver, at("thread"))) === large).toBe(true);
    expect((await valueAt(saver, at("thread", "", id))) === large).toBe(true);
    expect((await valuesOf(saver, at("thread"))).map((value) => String(value).length)).toEqual([large.length, 5]);
    await saver.putWrites(at("thread", "", id), [["value", large]], "task");
    const tuple = await saver.getTuple(at("thread"));
    expect(tuple?.pendingWrites?.[0]?.[2] === large).toBe(true);
  });

  it("is told to be damaged when a part of it is gone, and is never half of itself", async () => {
    const { store, saver } = await openScene();
    await put(saver, "thread", "x".repeat(1_000_000));
    const { documents } = await store.list("langgraph-checkpoint", { prefix: "p/", limit: 2 });
    const [first, second] = documents;
    await store.delete({ shape: "langgraph-checkpoint", id: second?.id ?? "" });
    await expect(saver.getTuple(at("thread"))).rejects.toMatchObject({ code: "store_damaged" });
    await store.put({ shape: "langgraph-checkpoint", id: second?.id ?? "", set: first?.fields ?? {} });
    await put(saver, "thread", "y");
    await store.put({ shape: "langgraph-checkpoint", id: first?.id ?? "", set: { text: "z" } });
    await expect(valuesOf(saver, at("thread"))).rejects.toMatchObject({ code: "store_damaged" });
  });

  it("is kept in whatever bytes the serialiser makes", async () => {
    const { store } = await openScene();
    const bytes = (value: unknown): Uint8Array => Uint8Array.from([255, 0, ...Buffer.from(JSON.stringify(value))]);
    const serde = {
      dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => ["own", bytes(value)],
      loadsTyped: async (_type: string, data: Uint8Array | string): Promise<unknown> =>
        JSON.parse(
          Buffer.from(data as Uint8Array)
            .subarray(2)
            .toString(),
        ),
    };
    const saver = checkpointSaver(BaseCheckpointSaver, store, { serde, shape: "threads" });
    await put(saver, "thread", { a: 1 });
    expect(await valueAt(saver, at("thread"))).toEqual({ a: 1 });
    expect((await store.list("threads")).documents).toHaveLength(1);
  });

  it("expires with its writes after its ttl, and takes nothing of newer ones along", async () => {
    const { store, clock } = await openScene();
    const saver = checkpointSaver(BaseCheckpointSaver, store, { ttl: 60 });
    const old = await put(saver, "thread", "x".repeat(500_000));
    await saver.putWrites(at("thread", "", old), [["value", "w"]], "task");
    clock.advance(40_000);
    await put(saver, "thread", "new");
    clock.advance(30_000);
    expect(await valuesOf(saver, at("thread"))).toEqual(["new"]);
    clock.advance(2 * 3_600_000);
    expect(await saver.getTuple(at("thread"))).toBeUndefined();
    expect((await store.list("langgraph-checkpoint")).documents).toEqual([]);
  });
});

describe("names of any kind", () => {
  const names = [
    "a",
    "a/",
    "a/b",
    "a%2Fb",
    "a%252Fb",
    "%h",
    "",
    " ",
    "b".repeat(5_000),
    `${"b".repeat(5_000)}c`,
    "é",
    "__proto__",
  ];

  it("name threads, namespaces and checkpoints, and are never taken for each other", async () => {
    const { saver } = await openScene();
    for (const thread of names) for (const ns of names) await put(saver, thread, [thread, ns], ns, `id ${ns}`);
    for (const thread of names) {
      for (const ns of names) {
        expect(await valueAt(saver, at(thread, ns))).toEqual([thread, ns]);
        expect(await valueAt(saver, at(thread, ns, `id ${ns}`))).toEqual([thread, ns]);
        expect(await valuesOf(saver, at(thread, ns))).toEqual([[thread, ns]]);
      }
      expect(await valuesOf(saver, { configurable: { thread_id: thread } })).toHaveLength(names.length);
    }
    await saver.deleteThread("a");
    expect(await valuesOf(saver, { configurable: {} })).toHaveLength((names.length - 1) * names.length);
  });

  it("is deleted under a number as well, as it was written under one", async () => {
    const { saver } = await openScene();
    await put(saver, "7", "gone");
    await saver.deleteThread(7 as unknown as string);
    expect(await valuesOf(saver, at("7"))).toEqual([]);
    await expect(saver.deleteThread(undefined as unknown as string)).rejects.toMatchObject({ code: "invalid_request" });
  });
});

describe("a list", () => {
  it("is the newest first over all namespaces, and ends where it is told to", async () => {
    const { saver } = await openScene();
    const ids: string[] = [];
    for (let count = 0; count < 50; count++)
      ids.push(await put(saver, "thread", count, count % 2 === 0 ? "" : `ns ${count % 3}`));
    await put(saver, "other", "not this");
    const all = { configurable: { thread_id: "thread" } };
    const down = Array.from({ length: 50 }, (_, index) => 49 - index);
    expect(await valuesOf(saver, all)).toEqual(down);
    expect(await valuesOf(saver, all, { limit: 3 })).toEqual([49, 48, 47]);
    expect(await valuesOf(saver, all, { limit: 3, before: at("thread", "", ids[20]) })).toEqual([19, 18, 17]);
    expect(await valuesOf(saver, at("thread"), { limit: 2, before: at("thread", "", ids[20]) })).toEqual([18, 16]);
    expect(await valuesOf(saver, at("thread"), { limit: 0 })).toEqual([]);
    expect(await valuesOf(saver, all, { filter: { source: "input" } })).toEqual([]);
    expect(await valuesOf(saver, at("thread", "", ids[4]))).toEqual([4]);
  });
});

describe("writes of tasks", () => {
  it("count once, however often they are put, and those of the framework's own channels the last time", async () => {
    const { saver } = await openScene();
    const id = await put(saver, "thread", 0);
    const where = at("thread", "", id);
    await saver.putWrites(
      where,
      [
        ["a", 1],
        ["b", 2],
      ],
      "task",
    );
    await saver.putWrites(
      where,
      [
        ["a", "again"],
        ["b", "again"],
        ["c", 3],
      ],
      "task",
    );
    await saver.putWrites(where, [["__interrupt__", "first"]], "task");
    await saver.putWrites(where, [["__interrupt__", "second"]], "task");
    expect((await saver.getTuple(where))?.pendingWrites).toEqual([
      ["task", "__interrupt__", "second"],
      ["task", "a", 1],
      ["task", "b", 2],
      ["task", "c", 3],
    ]);
  });

  it("are those of all writers when several put at once, and whole for each", async () => {
    const { saver } = await openScene();
    const id = await put(saver, "thread", 0);
    const writers = Array.from({ length: 20 }, (_, writer) => [
      saver.putWrites(
        at("thread", "", id),
        [
          ["a", writer],
          ["b", writer],
        ],
        "same task",
      ),
      saver.putWrites(at("thread", "", id), [["a", writer]], `task ${writer}`),
    ]);
    await Promise.all(writers.flat());
    const writes = (await saver.getTuple(at("thread")))?.pendingWrites ?? [];
    const same = writes.filter(([task]) => task === "same task");
    expect(same).toHaveLength(2);
    expect(same[0]?.[2]).toBe(same[1]?.[2]);
    expect(writes).toHaveLength(22);
  });

  it("come in the order in which a step applies them: by path, task and index", async () => {
    const { saver } = await openScene();
    const id = await put(saver, "thread", 0);
    const where = at("thread", "", id);
    const many = Array.from({ length: 12 }, (_, index): [string, unknown] => ["a", index]);
    await saver.putWrites(where, many, "z", "~1");
    await saver.putWrites(where, [["a", "later"]], "a", "~2");
    await saver.putWrites(where, [["a", "astral"]], "\u{10000}", "~2");
    await saver.putWrites(where, [["a", "private"]], "\ue000", "~2");
    await saver.putWrites(where, [["a", "input"]], "zz");
    const values = ((await saver.getTuple(where))?.pendingWrites ?? []).map(([, , value]) => value);
    expect(values).toEqual(["input", ...many.map(([, value]) => value), "later", "private", "astral"]);
  });

  it("are refused whole when they do not fit, and the task has none then", async () => {
    const { saver } = await openScene();
    const id = await put(saver, "thread", 0);
    const tooMany = Array.from({ length: 3_000 }, (_, index): [string, unknown] => ["a".repeat(500), index]);
    await expect(saver.putWrites(at("thread", "", id), tooMany, "task")).rejects.toMatchObject({ code: "too_large" });
    expect((await saver.getTuple(at("thread")))?.pendingWrites).toEqual([]);
  });
});

describe("a thread that is deleted", () => {
  it("is gone with all that belongs to it, more than one batch takes, and other threads stay", async () => {
    const { store, saver } = await openScene();
    const id = await put(saver, "thread", "x".repeat(400_000));
    const writers = Array.from({ length: 1_100 }, (_, task) =>
      saver.putWrites(at("thread", "", id), [["a", 1]], `t${task}`),
    );
    await Promise.all([...writers, put(saver, "thread", "nested", "ns"), put(saver, "thread-2", "stays")]);
    await saver.deleteThread("thread");
    const left = (await store.list("langgraph-checkpoint", { limit: 1_000 })).documents;
    expect(left.map(({ fields }) => fields["thread_id"])).toEqual(["thread-2"]);
  });
});

describe("a saver", () => {
  it("is one of the framework's, which says what it is and never writes its store out", async () => {
    const { saver } = await openScene();
    expect(saver).toBeInstanceOf(BaseCheckpointSaver);
    expect(JSON.stringify({ saver })).toBe('{"saver":"[OnceKvSaver]"}');
    expect(saver.getNextVersion(undefined)).toBe(1);
  });

  it("refuses what it does not know, and asks for what it needs", async () => {
    const { store, saver } = await openScene();
    const make = (options: object) => () => checkpointSaver(BaseCheckpointSaver, store, options);
    expect(make({ tll: 3 })).toThrow(expect.objectContaining({ path: "tll" }));
    expect(make({ ttl: 0 })).toThrow(expect.objectContaining({ path: "ttl" }));
    expect(make({ shape: "No Shape" })).toThrow(expect.objectContaining({ path: "shape" }));
    expect(make({ serde: {} })).toThrow(expect.objectContaining({ path: "serde.dumpsTyped" }));
    const nowhere = saver.put({ configurable: {} }, emptyCheckpoint(), step, {});
    await expect(nowhere).rejects.toMatchObject({ code: "invalid_request", path: "configurable.thread_id" });
    const odd = saver.getTuple({ configurable: { thread_id: ["a"] } });
    await expect(odd).rejects.toMatchObject({ path: "configurable.thread_id" });
    await expect(put(saver, "\ud800", 1)).rejects.toMatchObject({ path: "configurable.thread_id" });
  });
});
