import { describe, expect, it } from "vitest";
import type { ToolCallOutcome } from "../../src/tool-calls/index.js";
import { openScene, outcomeOf, settled } from "./scene.js";

const request = { tool: "write_report", args: { topic: "keys" } };

async function* report(): AsyncGenerator<string> {
  yield "one";
  await settled();
  yield "two";
  yield "three";
}

async function readAll<C, T>(chunks: AsyncGenerator<C, ToolCallOutcome<T>>): Promise<[C[], ToolCallOutcome<T>]> {
  const read: C[] = [];
  for (;;) {
    const next = await chunks.next();
    if (next.done === true) return [read, next.value];
    read.push(next.value);
  }
}

describe("a tool that streams", () => {
  it("gives its chunks to the first caller as they come, and its last one to every later caller", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const [chunks, first] = await readAll(calls.stream(request, report));
    expect(chunks).toEqual(["one", "two", "three"]);
    expect(first).toMatchObject({ result: "three", was_replay: false, persisted: true });
    const [replayed, second] = await readAll(calls.stream(request, report));
    expect(replayed).toEqual(["three"]);
    expect(second).toEqual({ ...first, was_replay: true });
  });

  it("is collected into one result, if the caller says how", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const collect = (soFar: string | undefined, chunk: string): string => `${soFar ?? ""}${chunk} `;
    const [chunks, first] = await readAll(calls.stream({ ...request, collect }, report));
    expect(chunks).toEqual(["one", "two", "three"]);
    expect(first.result).toBe("one two three ");
    expect(await calls.run({ ...request, collect }, report)).toMatchObject({
      result: "one two three ",
      was_replay: true,
    });
  });

  it("may be run like any other: the result is the final one, and each chunk is shown", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const shown: string[] = [];
    const onChunk = (chunk: string): void => void shown.push(chunk);
    const outcome: ToolCallOutcome<string> = await calls.run({ ...request, onChunk }, report);
    expect(outcome.result).toBe("three");
    expect(shown).toEqual(["one", "two", "three"]);
    await calls.run({ ...request, onChunk }, report);
    expect(shown).toHaveLength(3);
  });

  it("goes no faster than its reader", async () => {
    const { worker } = await openScene();
    const made: number[] = [];
    async function* counting(): AsyncGenerator<number> {
      for (let count = 1; count <= 10; count++) {
        made.push(count);
        yield count;
      }
    }
    const chunks = worker("A").calls.stream(request, counting);
    expect(await chunks.next()).toMatchObject({ value: 1 });
    await settled();
    expect(made).toEqual([1]);
    await chunks.next();
    await settled();
    expect(made).toEqual([1, 2]);
  });

  it("runs to its end and is recorded when its reader leaves", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    for await (const chunk of calls.stream(request, report)) {
      expect(chunk).toBe("one");
      break;
    }
    await settled();
    await settled();
    expect(await calls.wait(request)).toMatchObject({ result: "three", was_replay: true });
  });

  it("is not begun before its reader reads", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const chunks = calls.stream(request, report);
    await settled();
    expect(await calls.get(request)).toBeUndefined();
    await readAll(chunks);
  });

  it("that breaks off is recorded by what it threw, and its reader gets the error after the chunks", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A", { classify: () => "failed" });
    async function* broken(): AsyncGenerator<string> {
      yield "one";
      throw new Error("broken off");
    }
    const chunks = calls.stream(request, broken);
    expect(await chunks.next()).toMatchObject({ value: "one" });
    expect(await outcomeOf(chunks.next())).toMatchObject({ message: "broken off" });
    expect(await calls.get(request)).toMatchObject({ fields: { status: "failed" } });
  });

  it("is recorded also when the caller's own listener throws, and the caller gets that error", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const onChunk = (): void => {
      throw new Error("a fault of the listener");
    };
    expect(await outcomeOf(calls.run({ ...request, onChunk }, report))).toMatchObject({
      message: "a fault of the listener",
    });
    expect(await calls.run(request, report)).toMatchObject({ result: "three", was_replay: true });
  });

  it("that gives no chunk has the result undefined", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    async function* silent(): AsyncGenerator<string> {}
    const [chunks, outcome] = await readAll(calls.stream(request, silent));
    expect([chunks, outcome.result]).toEqual([[], undefined]);
    expect((await readAll(calls.stream(request, silent)))[0]).toEqual([]);
  });

  it("fires once for two readers at the same time: the second gets the final result alone", async () => {
    const { worker } = await openScene();
    let fires = 0;
    async function* counted(): AsyncGenerator<string> {
      fires += 1;
      yield* report();
    }
    const [a, b] = await Promise.all([
      readAll(worker("A").calls.stream(request, counted)),
      readAll(worker("B").calls.stream(request, counted)),
    ]);
    expect(fires).toBe(1);
    expect(a[0]).toEqual(["one", "two", "three"]);
    expect(b[0]).toEqual(["three"]);
  });
});
