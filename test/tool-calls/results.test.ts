import { describe, expect, it } from "vitest";
import type { ToolCalls } from "../../src/tool-calls/index.js";
import { openScene, settled } from "./scene.js";

const request = { tool: "t", args: { a: 1 } };

describe("a result that looks like none", () => {
  it.each([[undefined], [null], [0], [false], [""], [[]], [{}]])("is a result: %j", async (result) => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    let fires = 0;
    const fire = (): unknown => {
      fires += 1;
      return result;
    };
    const first = await calls.run(request, fire);
    const second = await calls.run(request, fire);
    expect(first).toMatchObject({ was_replay: false, persisted: true });
    expect(second).toEqual({ ...first, was_replay: true });
    expect(second.result).toEqual(result);
    expect("result_omitted" in second).toBe(false);
    expect(fires).toBe(1);
  });
});

describe("the first caller and a later one", () => {
  it("get the same value, as JSON keeps it, and each a copy of its own", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const live = { id: 7, gone: undefined, minus: -0, list: [{ deep: true }] };
    const first = await calls.run(request, () => live);
    const second = await calls.run(request, () => live);
    expect(first.result).toStrictEqual({ id: 7, minus: 0, list: [{ deep: true }] });
    expect(second.result).toStrictEqual(first.result);
    first.result.list.push({ deep: false });
    expect(live.list).toHaveLength(1);
    expect((await calls.run(request, () => live)).result.list).toHaveLength(1);
  });

  it("get what the tool returned even if the caller changes it while it is still to be stored", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    network.fault("completed", "request lost");
    const first = await calls.run(request, () => ({ list: [1] }));
    first.result.list.push(2);
    await advance(1);
    expect((await calls.run(request, () => ({ list: [] as number[] }))).result).toEqual({ list: [1] });
  });
});

describe("a result that cannot be kept", () => {
  const unkept: readonly [string, () => unknown][] = [
    ["a date", () => new Date(0)],
    ["a map", () => new Map([[1, 2]])],
    ["not a number", () => Number.NaN],
    ["a big integer", () => 1n],
    ["a function", () => () => 1],
    [
      "a circle",
      () =>
        Object.assign(
          {},
          {
            get self(): unknown {
              return this;
            },
          },
        ),
    ],
    [
      "an object whose getter throws",
      () => ({
        get broken(): never {
          throw new Error("getter");
        },
      }),
    ],
  ];

  it.each(unkept)("%s, is known to be done: the first caller has it, later ones are told", async (_, make) => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const live = make();
    let fires = 0;
    const fire = (): unknown => {
      fires += 1;
      return live;
    };
    const first = await calls.run(request, fire);
    expect(first).toMatchObject({ was_replay: false, persisted: true, result_omitted: "not_json" });
    expect(first.result).toBe(live);
    const second = await calls.run(request, fire);
    expect(second).toMatchObject({ was_replay: true, result_omitted: "not_json" });
    expect(second.result).toBeUndefined();
    expect(fires).toBe(1);
  });

  it.each([
    ["by the store", 1_100_000],
    ["before it is sent", 20_000_000],
  ])("because it is too large %s, is known to be done", async (_, length) => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const first = await calls.run(request, () => "x".repeat(length));
    expect(first).toMatchObject({ was_replay: false, persisted: true, result_omitted: "too_large" });
    expect(first.result).toHaveLength(length);
    const second = await calls.run(request, () => "again");
    expect(second).toMatchObject({ result: undefined, was_replay: true, result_omitted: "too_large" });
  });

  it("beside arguments that fill the record, makes room by leaving those out", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const args = { text: "x".repeat(await longestClaimable(calls)) };
    const outcome = await calls.run({ tool: "t", args }, () => "y".repeat(1000));
    expect(outcome).toMatchObject({ persisted: true, result_omitted: "too_large" });
    const { fields } = (await calls.get({ tool: "t", args })) ?? {};
    expect([fields?.status, fields?.intent]).toEqual(["completed", null]);
    expect(await calls.run({ tool: "t", args }, () => "again")).toMatchObject({ was_replay: true });
  });

  it("nested as deep as a record allows is kept, and one level deeper is known to be done", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    const kept = await calls.run({ tool: "t", args: 63 }, () => nested(63));
    expect(kept.result_omitted).toBeUndefined();
    expect((await calls.run({ tool: "t", args: 63 }, () => 0)).result).toEqual(nested(63));
    expect(await calls.run({ tool: "t", args: 64 }, () => nested(64))).toMatchObject({ result_omitted: "not_json" });
  });
});

/** The most characters that arguments may have for the record of their claim to fit into the store. */
async function longestClaimable(calls: ToolCalls): Promise<number> {
  let [fits, tooLong] = [1_040_000, 1_048_576];
  while (tooLong - fits > 1) {
    const length = Math.floor((fits + tooLong) / 2);
    const request = { tool: "t", args: { text: "x".repeat(length) } };
    const claim = await calls.claim(request).catch(() => undefined);
    if (claim?.claimed === true) await claim.release();
    if (claim === undefined) tooLong = length;
    else fits = length;
  }
  await calls.forget({ tool: "t", args: { text: "x".repeat(fits) } });
  return fits;
}

describe("redaction", () => {
  it("changes what is stored for people, not what the call is", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A", { redact: (args, tool) => ({ tool, amount: (args as { amount: number }).amount }) });
    const args = { amount: 10, card: "4111" };
    const seen = await calls.run({ tool: "charge", args }, (call) => call.args as object);
    expect(seen.result).toEqual(args);
    const record = await calls.get({ tool: "charge", args });
    expect(record?.fields.intent).toEqual({ tool: "charge", amount: 10 });
    expect(record?.fields.fingerprint).toBe(seen.key.split(":")[1]);
    expect(await calls.run({ tool: "charge", args: { ...args, card: "4222" } }, () => 2)).toMatchObject({ result: 2 });
  });
});

describe("what the caller adds", () => {
  it("is kept through every transition and makes no difference to the call", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    await calls.run({ ...request, extra: { trace: "1" } }, () => 1);
    await settled();
    expect(await calls.run({ ...request, extra: { trace: "2" } }, () => 2)).toMatchObject({
      result: 1,
      was_replay: true,
    });
    expect((await calls.get(request))?.fields.extra).toEqual({ trace: "1" });
  });
});
