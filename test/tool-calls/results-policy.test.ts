import { describe, expect, it } from "vitest";
import { getContent } from "../../src/content/index.js";
import type { ToolCallsOptions } from "../../src/tool-calls/index.js";
import { openScene, outcomeOf, settled } from "./scene.js";

const request = { tool: "report", args: { a: 1 } };
const ann = { by: "ann" };
const blobs = { results: { large: "blob", maxBytes: 100 } } as const satisfies ToolCallsOptions;
const large = { text: "x".repeat(200), list: [1, { two: null }] };

describe("results that are larger than their record may hold", () => {
  it("are known to be done, and not kept, as tombstones", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A", { results: { maxBytes: 10 } });
    const first = await calls.run(request, () => "eleven bytes");
    expect(first).toMatchObject({ result: "eleven bytes", result_omitted: "too_large", persisted: true });
    expect(await calls.run(request, () => "again")).toMatchObject({ result: undefined, result_omitted: "too_large" });
    // The bound is in bytes of JSON text, and a result of exactly so many is kept.
    const fits = await calls.run({ ...request, args: 2 }, () => "éééé");
    expect(fits).toMatchObject({ result: "éééé" });
    expect("result_omitted" in fits).toBe(false);
  });

  it("are kept beside it as blobs, and replayed like any other", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A", blobs);
    const first = await calls.run(request, () => large);
    expect(first).toMatchObject({ result: large, was_replay: false, persisted: true });
    first.result.list.push(3);
    const other = worker("B", blobs).calls;
    for (const replay of [await other.run(request, () => ({ ...large })), await other.wait(request)]) {
      expect(replay).toMatchObject({ was_replay: true, result: large });
      expect(replay !== undefined && "result_omitted" in replay).toBe(false);
    }
    expect(await other.claim(request)).toMatchObject({ claimed: false, result: large });
    const { fields } = (await calls.get(request)) ?? {};
    expect(fields?.result).toBeUndefined();
    const content = await getContent(store, "tool-result", fields?.result_ref ?? "");
    expect(content).toEqual({ kind: "json", value: large });
  });

  it("stay in the record while they fit, and are one document for several calls", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A", blobs);
    const small = await calls.run({ ...request, args: 0 }, () => "small");
    expect(small.result).toBe("small");
    expect((await store.list("tool-result")).documents).toEqual([]);
    await calls.run({ ...request, args: 1 }, () => large);
    await calls.run({ ...request, args: 2 }, () => large);
    expect((await store.list("tool-result")).documents).toHaveLength(1);
  });

  it("live as long as their records, also when those are written late", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A", { ...blobs, completedTtl: 600, pendingTtl: 300 });
    network.fault("completed", "request lost", 20);
    expect(await calls.run(request, () => large)).toMatchObject({ persisted: false, result: large });
    await advance(200);
    expect((await calls.get(request))?.fields.status).toBe("completed");
    // Longer than the window after the result was written, and shorter than the window after the record was.
    await advance(500);
    expect(await calls.run(request, () => large)).toMatchObject({ was_replay: true, result: large });
  });

  it("are prolonged for a call that comes to the same result later", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A", { ...blobs, completedTtl: 600, pendingTtl: 300 });
    await calls.run({ ...request, args: 1 }, () => large);
    await advance(1100);
    await calls.run({ ...request, args: 2 }, () => large);
    await advance(590);
    expect(await calls.run({ ...request, args: 2 }, () => 0)).toMatchObject({ was_replay: true, result: large });
  });

  it("are gone when their document is, and that is what a replay says; nothing is fired", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A", blobs);
    await calls.run(request, () => large);
    const id = (await calls.get(request))?.fields.result_ref ?? "";
    await store.delete({ shape: "tool-result", id });
    let fires = 0;
    const replay = await calls.run(request, () => {
      fires += 1;
    });
    expect(replay).toMatchObject({ was_replay: true, result: undefined, result_omitted: "gone" });
    expect(fires).toBe(0);
  });

  it("are not given out when they were overwritten", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A", blobs);
    await calls.run(request, () => large);
    const id = (await calls.get(request))?.fields.result_ref ?? "";
    await store.put({ shape: "tool-result", id, set: { format: 1, kind: "json", value: "forged" } });
    await expect(calls.run(request, () => 0)).rejects.toMatchObject({ code: "store_damaged" });
  });

  it("are saved within the record when the store does not take them beside it", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A", blobs);
    const first = await calls.run(request, () => {
      network.down = true;
      return large;
    });
    expect(first).toMatchObject({ persisted: false, result: large });
    network.down = false;
    await advance(1);
    expect((await calls.get(request))?.fields).toMatchObject({ status: "completed", result: large });
  });

  it("are tombstones when no document can hold them", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A", blobs);
    const first = await calls.run(request, () => "x".repeat(1_100_000));
    expect(first).toMatchObject({ persisted: true, result_omitted: "too_large" });
    expect(first.result).toHaveLength(1_100_000);
    expect(await calls.run(request, () => "")).toMatchObject({ was_replay: true, result_omitted: "too_large" });
  });

  it("are kept the same way when a claim, a look-up or an operator brings them", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A", blobs);
    const byHand = await calls.claim({ ...request, args: 1 });
    if (!byHand.claimed) throw new Error("not claimed");
    expect(await byHand.complete(large)).toMatchObject({ result: large, persisted: true });
    const broken = (): never => {
      throw new Error("timed out");
    };
    await outcomeOf(calls.run({ ...request, args: 2, policy: "review" }, broken));
    await calls.resolve({ ...request, args: 2 }, { result: large }, ann);
    const lookedUp = { ...request, args: 3, reconcile: () => ({ result: large }) };
    await outcomeOf(calls.run(lookedUp, broken));
    for (const args of [1, 2, 3]) {
      const replay = await calls.run({ ...lookedUp, args }, () => 0);
      expect(replay).toMatchObject({ was_replay: true, result: large });
      expect((await calls.get({ ...request, args }))?.fields.result_ref).toMatch(/^json-sha256-/);
    }
  });
});

describe("results that are redacted", () => {
  const redact = (result: unknown, tool: string) => ({ tool, id: (result as { id: number }).id });
  const secret = { id: 5, card: "4111" };

  it("are the same for the first caller and every later one, and nothing else is stored", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A", { results: { redact } });
    const first = await calls.run(request, () => secret);
    expect(first.result).toEqual({ tool: "report", id: 5 });
    expect(await calls.run(request, () => secret)).toEqual({ ...first, was_replay: true });
    expect(JSON.stringify(await calls.get(request))).not.toContain("4111");
  });

  it("also when an operator brings them, and when they are too large", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A", { results: { redact, maxBytes: 1 } });
    const first = await calls.run(request, () => secret);
    expect(first).toMatchObject({ result: { tool: "report", id: 5 }, result_omitted: "too_large" });
    const kept = worker("B", { results: { redact } }).calls;
    await outcomeOf(kept.run({ ...request, args: 2, policy: "review" }, () => Promise.reject(new Error("lost"))));
    const resolved = await kept.resolve({ ...request, args: 2 }, { result: secret }, ann);
    expect(resolved.result).toEqual({ tool: "report", id: 5 });
  });

  it("are not kept, and do not get out, when redacting fails; the call is done all the same", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A", {
      results: {
        redact: () => {
          throw new Error("broken");
        },
      },
    });
    let fires = 0;
    const fire = (): object => {
      fires += 1;
      return secret;
    };
    const first = await calls.run(request, fire);
    expect(first).toMatchObject({ result: undefined, result_omitted: "redaction_failed", persisted: true });
    expect(await calls.run(request, fire)).toEqual({ ...first, was_replay: true });
    expect(fires).toBe(1);
  });
});

describe("the options of results", () => {
  it.each([
    [{ maxBytes: -1 }, "results.maxBytes"],
    [{ maxBytes: 1.5 }, "results.maxBytes"],
    [{ maxBytes: "10" }, "results.maxBytes"],
    [{ large: "file" }, "results.large"],
    [{ shape: "Not A Shape" }, "results.shape"],
    [{ shape: "tool-call" }, "results.shape"],
    [{ redact: "all" }, "results.redact"],
    [{ redcat: () => 1 }, "results.redcat"],
  ])("are judged: %j", async (results, path) => {
    const { worker } = await openScene();
    const options = { results } as unknown as ToolCallsOptions;
    expect(() => worker("A", options)).toThrow(expect.objectContaining({ code: "invalid_request", path }));
  });
});

describe("an error that a tool throws", () => {
  it("comes back with its name, message, code, status, word about itself and causes", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const cause = Object.assign(new RangeError("no funds"), { code: "E_FUNDS" });
    const thrown = Object.assign(new TypeError("declined", { cause }), {
      code: "card_declined",
      status: 402,
      retryable: false,
      secret: "4111",
    });
    const first = await outcomeOf(calls.run(request, () => Promise.reject(thrown)));
    expect(first).toBe(thrown);
    await settled();
    const second = await outcomeOf(worker("B").calls.run(request, () => 0));
    expect(second).toMatchObject({
      code: "tool_call_failed",
      was_replay: true,
      cause: {
        name: "TypeError",
        message: "declined",
        code: "card_declined",
        status: 402,
        retryable: false,
        cause: { name: "RangeError", message: "no funds", code: "E_FUNDS" },
      },
    });
    expect(second instanceof Error && second.cause).toBeInstanceOf(Error);
    expect(JSON.stringify(await calls.get(request))).not.toContain("4111");
  });
});
