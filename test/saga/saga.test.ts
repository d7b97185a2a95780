import { describe, expect, it } from "vitest";
import { SagaFailedError, type SagaOptions, saga } from "../../src/saga/index.js";
import { openScene, outcomeOf } from "../tool-calls/scene.js";
import { book, options, Refused, Trip } from "./trip.js";

describe("a saga whose steps are all done", () => {
  it("gives its result once, and the stored one to every later call", async () => {
    const { worker } = await openScene();
    const trip = new Trip();
    const first = await book(worker("A").calls, trip);
    expect(first).toMatchObject({ result: "flight, hotel, car", was_replay: false, key: "trip:7", attempt: 1 });
    expect(await book(worker("B").calls, trip)).toEqual({ ...first, was_replay: true });
    expect(trip.effects).toEqual(["flight", "hotel", "car"]);
    expect(trip.asked).toBe(3);
  });

  it("binds its key to its arguments", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    await book(calls, new Trip());
    const other = saga(calls, { ...options, args: { to: "Oslo" } }, () => 1);
    await expect(other).rejects.toMatchObject({ code: "idempotency_conflict" });
  });

  it("writes each step down as a call in its own scope", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const { key } = await book(calls, new Trip());
    const { calls: steps } = await calls.list({ scope: key });
    expect(steps.map(({ fields }) => [fields.tool, fields.status, fields.extra])).toEqual([
      ["car", "completed", { saga_part: "step", position: 2 }],
      ["flight", "completed", { saga_part: "step", position: 0 }],
      ["hotel", "completed", { saga_part: "step", position: 1 }],
    ]);
  });

  it("is run by one of two who call at once", async () => {
    const { worker } = await openScene();
    const trip = new Trip();
    const outcomes = await Promise.all([book(worker("A").calls, trip), book(worker("B").calls, trip)]);
    expect(outcomes.map((outcome) => outcome.was_replay).sort()).toEqual([false, true]);
    expect(trip.asked).toBe(3);
  });
});

describe("a saga whose body fails", () => {
  it("undoes what was done, the last step first, and fails the same way ever after", async () => {
    const { worker } = await openScene();
    const trip = new Trip();
    trip.refused = new Set(["car"]);
    const first = await outcomeOf(book(worker("A").calls, trip));
    expect(first).toBeInstanceOf(SagaFailedError);
    expect(first).toMatchObject({
      code: "tool_call_failed",
      key: "trip:7",
      was_replay: false,
      message: expect.stringContaining('compensated were "hotel", "flight"'),
      cause: { code: "tool_call_failed", step: "car", cause: { message: "no car" } },
    });
    const asked = trip.asked;
    trip.refused = new Set();
    const second = await outcomeOf(book(worker("B").calls, trip));
    expect(second).toBeInstanceOf(SagaFailedError);
    expect(second).toMatchObject({
      was_replay: true,
      message: first instanceof Error ? first.message : "",
      cause: { name: "SagaStepFailedError", cause: { message: "no car" } },
    });
    expect(trip.effects).toEqual(["flight", "hotel", "undo hotel", "undo flight"]);
    expect(trip.asked).toBe(asked);
  });

  it("undoes for what the body itself throws, and only steps that have a compensation", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const undone: unknown[] = [];
    const failing = saga(calls, options, async (trip) => {
      await trip.step("note", { a: 1 }, () => "noted");
      await trip.step(
        "charge",
        { b: 2 },
        () => ({ id: 5 }),
        (result, call) => undone.push([result, call.args]),
      );
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toMatchObject({ code: "tool_call_failed", cause: { message: "changed my mind" } });
    expect(undone).toEqual([[{ id: 5 }, { b: 2 }]]);
  });

  it("lets the body go another way after a step that has failed, in the next run, too", async () => {
    const { worker } = await openScene();
    const fires: string[] = [];
    const run = (name: string, last: () => string) =>
      saga(worker(name).calls, options, async (trip) => {
        const fire = (name: string, result: () => string) => () => {
          fires.push(name);
          return result();
        };
        const first = await trip
          .step(
            "train",
            {},
            fire("train", () => {
              throw new Refused("full");
            }),
          )
          .catch((error: { cause: Error }) => error.cause.message);
        const bus = await trip.step(
          "bus",
          {},
          fire("bus", () => "bus"),
        );
        return [first, bus, await trip.step("last", {}, fire("last", last))];
      });
    await expect(
      run("A", () => {
        throw Object.assign(new Error("busy"), { outcome: "retryable" });
      }),
    ).rejects.toThrow("busy");
    expect((await run("B", () => "end")).result).toEqual(["full", "bus", "end"]);
    expect(fires).toEqual(["train", "bus", "last", "last"]);
  });
});

describe("a run that stops", () => {
  it("for a step that may be tried again undoes nothing, and the next run goes on there", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const trip = new Trip();
    const broken = Object.assign(new Error("try later"), { outcome: "retryable" });
    const run = (car: () => string) =>
      saga(calls, options, async (s) => {
        const flight = await s.step(
          "flight",
          {},
          (call) => trip.effect("flight", call.key),
          () => trip.effect("undo", ""),
        );
        // Whatever the body does with what stops it, it does not get past it.
        const rented = await s.step("car", {}, car).catch(() => s.step("bus", {}, () => trip.effect("bus", "bus")));
        return [flight, rented];
      });
    await expect(
      run(() => {
        throw broken;
      }),
    ).rejects.toBe(broken);
    expect((await calls.get("trip:7"))?.fields.status).toBe("released");
    expect(await run(() => "car")).toMatchObject({ result: ["flight", "car"], attempt: 2 });
    expect(trip.effects).toEqual(["flight"]);
  });

  it("for the caller's signal goes on later", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const abort = new AbortController();
    const steps: string[] = [];
    const run = (signal?: AbortSignal) =>
      saga(calls, { ...options, signal }, async (s) => {
        await s.step(
          "a",
          {},
          () => steps.push("a"),
          () => steps.push("undo a"),
        );
        if (signal !== undefined) abort.abort(new Error("gone home"));
        s.signal.throwIfAborted();
        return s.step("b", {}, () => steps.push("b"));
      });
    await expect(run(abort.signal)).rejects.toThrow("gone home");
    await run();
    expect(steps).toEqual(["a", "b"]);
  });

  it("when a step is done but not known to be stored, so that nothing is built on it", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    const trip = new Trip();
    network.fault("completed", "request lost");
    await expect(book(calls, trip)).rejects.toMatchObject({ code: "unavailable" });
    await advance(1);
    expect((await book(calls, trip)).result).toBe("flight, hotel, car");
    expect(trip.asked).toBe(3);
  });
});

describe("a body that is not the one that ran before", () => {
  const stopped = Object.assign(new Error("stop"), { outcome: "retryable" });
  const variants: readonly [string, readonly (readonly [string, unknown])[]][] = [
    [
      "another name",
      [
        ["a", 1],
        ["c", 2],
      ],
    ],
    [
      "other arguments",
      [
        ["a", 1],
        ["b", 3],
      ],
    ],
    [
      "another order",
      [
        ["b", 2],
        ["a", 1],
      ],
    ],
    ["an early end", [["a", 1]]],
  ];

  it.each(variants)("is refused for %s, before anything is fired or undone", async (_, steps) => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const fires: string[] = [];
    const run = (steps: readonly (readonly [string, unknown])[], end: () => void) =>
      saga(calls, options, async (s) => {
        for (const [name, args] of steps) {
          await s.step(
            name,
            args,
            () => fires.push(name),
            () => fires.push(`undo ${name}`),
          );
        }
        end();
      });
    const original = [
      ["a", 1],
      ["b", 2],
    ] as const;
    await outcomeOf(
      run(original, () => {
        throw stopped;
      }),
    );
    const refused = await outcomeOf(run(steps, () => {}));
    expect(refused).toMatchObject({ name: "SagaDivergedError", code: "idempotency_conflict", key: "trip:7" });
    expect(
      await outcomeOf(
        run(steps, () => {
          throw new Refused("no");
        }),
      ),
    ).toMatchObject({ name: "SagaDivergedError" });
    expect(fires).toEqual(["a", "b"]);
    await run(original, () => {});
    expect(fires).toEqual(["a", "b"]);
  });

  it("is refused when it succeeds although it was being compensated", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const trip = new Trip();
    trip.refused = new Set(["undo flight"]);
    const run = (end: () => string, more = false) =>
      saga(calls, options, async (s) => {
        await s.step(
          "flight",
          {},
          (c) => trip.effect("flight", c.key),
          (_, c) => trip.effect("undo flight", c.key),
        );
        if (more) await s.step("more", {}, () => trip.effect("more", "more"));
        return end();
      });
    await expect(
      run(() => {
        throw new Refused("no");
      }),
    ).rejects.toMatchObject({ code: "needs_review" });
    await expect(run(() => "fine")).rejects.toThrow("now ends well");
    await expect(run(() => "fine", true)).rejects.toThrow("one more step");
    expect(trip.effects).toEqual(["flight"]);
  });
});

describe("a mistake in the program", () => {
  const body =
    (during: (steps: { step: (name: string) => Promise<unknown> }) => unknown, fires: string[]) =>
    async (s: Parameters<Parameters<typeof saga>[2]>[0]) =>
      during({
        step: (name) =>
          s.step(
            name,
            {},
            () => fires.push(name),
            () => fires.push(`undo ${name}`),
          ),
      });

  it.each([
    [
      "a name used twice",
      async (s: { step: (name: string) => Promise<unknown> }) => {
        await s.step("a");
        await s.step("a");
      },
    ],
    ["two steps at once", (s: { step: (name: string) => Promise<unknown> }) => Promise.all([s.step("a"), s.step("b")])],
    [
      "a step that is not awaited",
      (s: { step: (name: string) => Promise<unknown> }) => {
        void s.step("a").catch(() => {});
      },
    ],
  ])("%s stops the saga and undoes nothing", async (_, during) => {
    const { worker } = await openScene();
    const fires: string[] = [];
    await expect(saga(worker("A").calls, options, body(during, fires))).rejects.toMatchObject({
      code: "invalid_request",
    });
    expect(fires).toEqual(["a"]);
  });

  it("a result that no record can hold is found out at once, and the step is undone", async () => {
    const { worker } = await openScene();
    const undone: unknown[] = [];
    const failing = saga(worker("A").calls, options, (s) =>
      s.step(
        "a",
        {},
        () => new Date(0),
        (result) => undone.push(result),
      ),
    );
    await expect(failing).rejects.toMatchObject({ cause: { code: "invalid_request", path: "a" } });
    expect(undone).toEqual([undefined]);
  });

  it("options that do not exist are refused before anything is claimed", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const given = { ...options, windows: 1 } as SagaOptions<{ to: string }>;
    await expect(saga(calls, given, () => 1)).rejects.toMatchObject({ code: "invalid_request", path: "windows" });
    await expect(saga(calls, { ...options, window: 0 }, () => 1)).rejects.toMatchObject({ path: "window" });
    expect((await calls.list()).calls).toEqual([]);
  });
});

describe("the window", () => {
  it("ends the resuming of a saga while all that it did is still known", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const run = () =>
      saga(calls, { ...options, window: 600 }, async (s) => {
        await s.step("a", {}, () => 1);
        throw Object.assign(new Error("later"), { outcome: "retryable" });
      });
    await expect(run()).rejects.toThrow("later");
    await advance(590);
    await expect(run()).rejects.toThrow("later");
    await advance(20);
    await expect(run()).rejects.toMatchObject({ code: "needs_review", message: expect.stringContaining("window") });
  });
});
