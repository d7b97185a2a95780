import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../src/base/errors.js";
import { ToolCallFailedError } from "../../src/tool-calls/index.js";
import { openScene, outcomeOf, SlowTool, settled } from "./scene.js";

const request = { tool: "charge", args: { amount: 10 } };

class CardError extends Error {
  override readonly name = "CardError";
  readonly code = "card_declined";
  readonly status = 402;
  readonly retryable = false;
}

describe("a tool that fails definitely", () => {
  it("throws its own error to the first caller, and an error like it to later ones, flagged as a replay", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const refused = new CardError("card refused", { cause: new Error("insufficient funds") });
    expect(await outcomeOf(calls.run(request, () => Promise.reject(refused)))).toBe(refused);
    await advance(100);
    const replayed = await outcomeOf(calls.run(request, () => "charged"));
    expect(replayed).toBeInstanceOf(ToolCallFailedError);
    expect(replayed).toMatchObject({
      code: "tool_call_failed",
      status: 424,
      was_replay: true,
      original_called_at: "2026-01-01T00:00:00.000Z",
      attempt: 1,
      retryAfter: 200,
      cause: {
        name: "CardError",
        message: "card refused",
        code: "card_declined",
        status: 402,
        retryable: false,
        cause: { message: "insufficient funds" },
      },
    });
  });

  it("is tried again by the next caller after failedTtl, still bound to its arguments", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A", { failedTtl: 60 });
    await outcomeOf(calls.run(request, () => Promise.reject(new CardError("card refused"))));
    await advance(59);
    await expect(calls.run(request, () => "charged")).rejects.toThrow(ToolCallFailedError);
    await advance(1);
    expect(await calls.run(request, () => "charged")).toMatchObject({ result: "charged", attempt: 2 });
  });
});

describe("a tool whose failure passes", () => {
  it("is released at once: the next caller fires, and nothing is cached", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const busy = Object.assign(new Error("too many requests"), { status: 429 });
    expect(await outcomeOf(calls.run(request, () => Promise.reject(busy)))).toBe(busy);
    expect(await calls.get(request)).toMatchObject({ fields: { status: "released", last_error: { status: 429 } } });
    expect(await calls.run(request, () => "charged")).toMatchObject({ result: "charged", attempt: 2 });
  });

  it("or whose end is unknown is left to the record's policy, which is to refire", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const timeout = new DOMException("the request timed out", "TimeoutError");
    await outcomeOf(calls.run(request, () => Promise.reject(timeout)));
    expect(await calls.get(request)).toMatchObject({
      fields: { status: "released", last_error: { name: "TimeoutError" } },
    });
    expect(await calls.run(request, () => "charged")).toMatchObject({ attempt: 2 });
  });
});

describe("whatever is thrown, and however,", () => {
  const throws: readonly [string, () => unknown, unknown][] = [
    ["rejects later", () => settled().then(() => Promise.reject(new Error("later"))), expect.any(Error)],
    [
      "throws at once",
      () => {
        throw new Error("at once");
      },
      expect.any(Error),
    ],
    ["rejects with undefined", () => Promise.reject(undefined), undefined],
    ["rejects with null", () => Promise.reject(null), null],
    ["rejects with a text", () => Promise.reject("text"), "text"],
    ["rejects with a plain object", () => Promise.reject({ reason: 1 }), { reason: 1 }],
  ];

  it.each(throws)("a tool that %s leaves nothing pending", async (_, tool, thrown) => {
    const { worker } = await openScene();
    const { calls } = worker("A", { classify: () => "failed" });
    await expect(calls.run(request, tool)).rejects.toEqual(thrown);
    expect(await calls.get(request)).toMatchObject({ fields: { status: "failed" } });
    const replayed = await outcomeOf(calls.run(request, tool));
    expect(replayed).toBeInstanceOf(ToolCallFailedError);
    expect((replayed as Error).cause).toEqual(thrown);
  });

  it("losers are woken by it", async () => {
    const { worker } = await openScene();
    const tool = new SlowTool();
    const classify = () => "failed" as const;
    const running = outcomeOf(worker("A").calls.run({ ...request, classify }, tool.run));
    await settled();
    const losers = ["B", "C"].map((name) => outcomeOf(worker(name).calls.run(request, tool.run)));
    await settled();
    tool.break(0, new Error("no"));
    for (const loser of losers) expect(await loser).toBeInstanceOf(ToolCallFailedError);
    expect(await running).toMatchObject({ message: "no" });
  });
});

describe("a classifier", () => {
  it("decides by call before the common one, and leaves to the default what it does not know", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A", { classify: () => "failed" });
    const seen: unknown[] = [];
    const own = { classify: (error: unknown, call: object) => void seen.push(error, call) };
    const thrown = Object.assign(new Error("gone"), { status: 404 });
    await outcomeOf(calls.run({ ...request, ...own }, () => Promise.reject(thrown)));
    expect(seen).toEqual([thrown, { tool: "charge", key: calls.keyOf(request), attempt: 1 }]);
    expect(await calls.get(request)).toMatchObject({ fields: { status: "failed" } });
  });

  it("that throws itself leaves the end unknown, and the tool's error stands", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const classify = (): never => {
      throw new Error("a fault of the classifier");
    };
    const thrown = Object.assign(new Error("gone"), { status: 404 });
    expect(await outcomeOf(calls.run({ ...request, classify }, () => Promise.reject(thrown)))).toBe(thrown);
    expect(await calls.get(request)).toMatchObject({ fields: { status: "released" } });
  });
});

describe("a request that cannot be carried out", () => {
  it("fires nothing and leaves no record", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    const bad: readonly object[] = [
      { tool: "", args: 1 },
      { tool: "t", args: undefined },
      { tool: "t", args: new Date() },
      { tool: "t", args: { at: Number.NaN } },
      { tool: "t", args: 1, key: "" },
      { tool: "t", args: 1, key: "k".repeat(1023) },
      { tool: "t", args: 1, scope: "" },
      { tool: "t", args: 1, key: () => undefined },
      { tool: "t", args: 1, waitTime: 5 },
      { tool: "t", args: 1, pendingTtl: 0 },
      { tool: "t", args: 1, wait: "no" },
      { tool: "t", args: 1, signal: {} },
      { tool: "t", args: 1, extra: { at: new Date() } },
      { tool: "t", args: 1, onChunk: "log" },
    ];
    for (const request of bad) {
      await expect(calls.run(request as { tool: string; args: unknown }, tool.run)).rejects.toThrow(
        InvalidRequestError,
      );
    }
    const noTool = calls.run({ tool: "t", args: 1 }, undefined as unknown as () => number);
    await expect(noTool).rejects.toThrow(InvalidRequestError);
    const large = calls.run({ tool: "t", args: "x".repeat(2_000_000) }, tool.run);
    await expect(large).rejects.toMatchObject({ code: "too_large" });
    expect(tool.fires).toBe(0);
    expect((await store.list("tool-call")).documents).toEqual([]);
  });
});
