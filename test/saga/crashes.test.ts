import { describe, expect, it } from "vitest";
import type { Clock } from "../../src/base/clock.js";
import { saga } from "../../src/saga/index.js";
import { openScene, outcomeOf, type Scene, settled } from "../tool-calls/scene.js";
import { book, mortalWorker, options, Trip } from "./trip.js";

/** Lets the clock run until a promise has ended. */
async function ended<T>(scene: Scene, promise: Promise<T>): Promise<T | Error> {
  let over = false;
  const outcome = outcomeOf(promise).finally(() => {
    over = true;
  });
  for (let seconds = 0; !over && seconds < 300; seconds += 5) await scene.advance(5);
  return outcome;
}

/**
 * Kills one worker at its n-th request, for every n until it is not reached any more, and lets another one go on.
 *
 * @returns how many deaths were died
 */
async function killEverywhere(
  when: "before" | "after",
  prepare: (trip: Trip) => void,
  check: (trip: Trip, outcome: unknown) => void,
): Promise<number> {
  for (let at = 1; ; at++) {
    const scene = await openScene();
    const trip = new Trip();
    prepare(trip);
    const first = outcomeOf(book(mortalWorker(scene, { at, when }), trip));
    await settled();
    const survived = await Promise.race([first.then(() => true), settled().then(() => false)]);
    if (survived) return at - 1;
    check(trip, await ended(scene, book(scene.worker("B").calls, trip)));
    // One step at most was asked for twice: the one that the dead worker was at.
    expect(trip.asked).toBeLessThanOrEqual(trip.effects.length + trip.refused.size + 1);
  }
}

describe("a saga whose worker dies at any request to the store", () => {
  it.each(["before", "after"] as const)(
    "(%s it is carried out) is brought to its end by another worker",
    async (when) => {
      const deaths = await killEverywhere(
        when,
        () => {},
        (trip, outcome) => {
          expect(outcome).toMatchObject({ result: "flight, hotel, car" });
          expect(trip.effects).toEqual(["flight", "hotel", "car"]);
        },
      );
      // Claim, own record and journal, then a claim and a completion for each of three steps; after the last one it is done.
      expect(deaths).toBeGreaterThanOrEqual(9);
    },
  );

  it.each(["before", "after"] as const)(
    "(%s it is carried out) is undone by another worker when it fails",
    async (when) => {
      const deaths = await killEverywhere(
        when,
        (trip) => {
          trip.refused = new Set(["car"]);
        },
        (trip, outcome) => {
          expect(outcome).toMatchObject({ name: "SagaFailedError", cause: { cause: { message: "no car" } } });
          expect(trip.effects).toEqual(["flight", "hotel", "undo hotel", "undo flight"]);
        },
      );
      expect(deaths).toBeGreaterThanOrEqual(15);
    },
  );

  it("is gone on with by one of two who come at once", async () => {
    const scene = await openScene();
    const trip = new Trip();
    void outcomeOf(book(mortalWorker(scene, { at: 7, when: "after" }), trip));
    await settled();
    expect(trip.asked).toBe(2);
    const others = [book(scene.worker("B").calls, trip), book(scene.worker("C").calls, trip)];
    const outcomes = await ended(scene, Promise.all(others));
    expect(outcomes).toMatchObject([{ result: "flight, hotel, car" }, { result: "flight, hotel, car" }]);
    expect(outcomes instanceof Error ? [] : outcomes.map((each) => each.was_replay).sort()).toEqual([false, true]);
    expect(trip.asked).toBe(3);
  });

  it("in the middle of a step under review stands still, undoing nothing, until somebody says what happened", async () => {
    const scene = await openScene();
    const trip = new Trip();
    trip.options = { policy: "review" };
    // Claim, own record, journal, flight claimed and completed, hotel claimed: it dies with the booking under way.
    void outcomeOf(book(mortalWorker(scene, { at: 7, when: "before" }), trip));
    const { calls } = scene.worker("B");
    expect(await ended(scene, book(calls, trip))).toMatchObject({
      name: "SagaNeedsReviewError",
      code: "needs_review",
      saga: "trip:7",
      doubtful: [{ step: "hotel", part: "step", key: "trip%3A7/hotel:step" }],
      waiting: [],
    });
    expect(trip.effects).toEqual(["flight", "hotel"]);
    await calls.resolve("trip%3A7/hotel:step", { result: "hotel" }, { by: "ann" });
    expect(await ended(scene, book(calls, trip))).toMatchObject({ result: "flight, hotel, car" });
    expect(trip.asked).toBe(3);
  });
});

describe("a worker that comes back late", () => {
  it("fires no more steps once another one has the saga", async () => {
    const scene = await openScene();
    // Suspended: time goes by, and nothing that falls due happens.
    const suspended: Clock = {
      wallNow: () => scene.clock.wallNow(),
      monotonicNow: () => scene.clock.monotonicNow(),
      setTimer: () => () => {},
    };
    const late = scene.worker("A", { clock: suspended });
    const other = scene.worker("B");
    const fires: string[] = [];
    const go: (() => void)[] = [];
    const run = (calls: typeof late.calls, name: string) =>
      outcomeOf(
        saga(calls, { ...options, waitTimeout: 120 }, async (s) => {
          await s.step("a", {}, () => fires.push(`${name} a`));
          await new Promise<void>((resolve) => go.push(resolve));
          return s.step("b", {}, () => fires.push(`${name} b`));
        }),
      );
    const first = run(late.calls, "late");
    await settled();
    const second = run(other.calls, "other");
    await scene.advance(35);
    const [goLate, goOther] = go;
    goLate?.();
    expect(await first).toMatchObject({ code: "claim_lost" });
    expect(fires).toEqual(["late a"]);
    goOther?.();
    expect(await second).toMatchObject({ attempt: 2 });
    expect(fires).toEqual(["late a", "other b"]);
  });
});
