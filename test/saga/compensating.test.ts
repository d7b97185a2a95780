import { describe, expect, it } from "vitest";
import { SagaNeedsReviewError } from "../../src/saga/index.js";
import { NeedsReviewError, type ToolCallPolicy } from "../../src/tool-calls/index.js";
import { openScene, outcomeOf } from "../tool-calls/scene.js";
import { book, mortalWorker, Trip } from "./trip.js";

const undoHotel = "trip%3A7/hotel.compensation:compensation";
const ann = { by: "ann" };

function failingTrip(...refused: string[]): Trip {
  const trip = new Trip();
  trip.refused = new Set(["car", ...refused]);
  return trip;
}

describe("a compensation that fails", () => {
  it.each<ToolCallPolicy>(["refire", "review"])(
    "under %s ends in review, which says which and what waits for it",
    async (policy) => {
      const { worker } = await openScene();
      const { calls } = worker("A");
      const trip = failingTrip("undo hotel");
      trip.options = { policy };
      const stands = {
        doubtful: [{ step: "hotel", part: "compensation", key: undoHotel }],
        waiting: ["flight"],
        cause: { message: "no undo hotel" },
        record: { status: "unknown" },
      };
      const first = await outcomeOf(book(calls, trip));
      expect(first).toBeInstanceOf(SagaNeedsReviewError);
      expect(first).toBeInstanceOf(NeedsReviewError);
      expect(first).toMatchObject(stands);
      const { asked } = trip;
      expect(await outcomeOf(book(worker("B").calls, trip))).toMatchObject(stands);
      // Nobody has tried again.
      expect(trip.asked).toBe(asked);
      expect(trip.effects).toEqual(["flight", "hotel"]);
    },
  );

  it("goes on with the rest when somebody has done it by hand", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const trip = failingTrip("undo hotel");
    await outcomeOf(book(calls, trip));
    await calls.resolve(undoHotel, { result: "called them" }, ann);
    expect(await outcomeOf(book(calls, trip))).toMatchObject({ name: "SagaFailedError", was_replay: false });
    expect(trip.effects).toEqual(["flight", "hotel", "undo flight"]);
  });

  it("is tried again when somebody says that it was not done", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const trip = failingTrip("undo hotel");
    await outcomeOf(book(calls, trip));
    await calls.resolve(undoHotel, { not_done: true }, ann);
    trip.refused = new Set(["car"]);
    expect(await outcomeOf(book(calls, trip))).toMatchObject({ name: "SagaFailedError" });
    expect(trip.effects).toEqual(["flight", "hotel", "undo hotel", "undo flight"]);
  });

  it("is given up, and named in the failure, when somebody decides so", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const trip = failingTrip("undo hotel");
    await outcomeOf(book(calls, trip));
    await calls.resolve(undoHotel, { error: new Error("they keep the money") }, ann);
    const message = expect.stringContaining('compensated were "flight"; not compensated, by decision, were "hotel"');
    expect(await outcomeOf(book(calls, trip))).toMatchObject({ name: "SagaFailedError", message });
    expect(await outcomeOf(book(calls, trip))).toMatchObject({ was_replay: true, message });
  });

  it("but is certainly not done is tried again by the next run", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const trip = failingTrip();
    const { effect } = trip;
    let busy = true;
    trip.effect = (name, key) => {
      if (name === "undo hotel" && busy) throw Object.assign(new Error("busy"), { outcome: "retryable" });
      return effect.call(trip, name, key);
    };
    await expect(book(calls, trip)).rejects.toThrow("busy");
    busy = false;
    expect(await outcomeOf(book(calls, trip))).toMatchObject({ name: "SagaFailedError" });
    expect(trip.effects).toEqual(["flight", "hotel", "undo hotel", "undo flight"]);
  });
});

describe("a worker that dies in the middle of a compensation", () => {
  it("of a step under review leaves it to a person", async () => {
    const scene = await openScene();
    const trip = failingTrip();
    trip.options = { policy: "review" };
    // The last request is the completion of "undo hotel".
    void outcomeOf(book(mortalWorker(scene, { at: 13, when: "before" }), trip));
    await scene.advance(31);
    expect(trip.effects).toEqual(["flight", "hotel", "undo hotel"]);
    expect(await outcomeOf(book(scene.worker("B").calls, trip))).toMatchObject({
      doubtful: [{ step: "hotel", part: "compensation" }],
      waiting: ["flight"],
    });
    expect(trip.effects).toEqual(["flight", "hotel", "undo hotel"]);
  });
});

describe("a step whose outcome is not known", () => {
  it("stops the saga under review, and its end is what is found out", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const trip = new Trip();
    trip.options = { policy: "review" };
    const { effect } = trip;
    trip.effect = (name, key) => {
      if (name === "car") throw new Error("timed out");
      return effect.call(trip, name, key);
    };
    expect(await outcomeOf(book(calls, trip))).toMatchObject({ doubtful: [{ step: "car", part: "step" }] });
    expect(trip.effects).toEqual(["flight", "hotel"]);
    await calls.resolve("trip%3A7/car:step", { error: new Error("no car") }, ann);
    expect(await outcomeOf(book(calls, trip))).toMatchObject({ name: "SagaFailedError" });
    expect(trip.effects).toEqual(["flight", "hotel", "undo hotel", "undo flight"]);
  });

  it("is no failure of it when its result is lost: the saga stands still", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A", { results: { large: "blob", maxBytes: 0 } });
    const trip = new Trip();
    const { effect } = trip;
    trip.effect = (name, key) => {
      if (name === "car") throw Object.assign(new Error("busy"), { outcome: "retryable" });
      return effect.call(trip, name, key);
    };
    await expect(book(calls, trip)).rejects.toThrow("busy");
    for await (const { id } of store.scan("tool-result")) await store.delete({ shape: "tool-result", id });
    await expect(book(calls, trip)).rejects.toMatchObject({ code: "needs_review" });
    expect(trip.effects).toEqual(["flight", "hotel"]);
  });

  it("stays known for the saga's window once it was resolved, and not only for the operator's", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const trip = new Trip();
    trip.options = { policy: "review" };
    const { effect } = trip;
    trip.effect = (name, key) => {
      const done = effect.call(trip, name, key);
      if (name === "car") throw new Error("timed out");
      return done;
    };
    await outcomeOf(book(calls, trip));
    await worker("operator", { completedTtl: 300 }).calls.resolve("trip%3A7/car:step", { result: "car" }, ann);
    await advance(7200);
    expect(await book(calls, trip)).toMatchObject({ result: "flight, hotel, car" });
    expect(trip.asked).toBe(3);
  });

  it("is looked up under reconcile, and the saga goes on by itself", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const trip = new Trip();
    const { effect } = trip;
    trip.options = { reconcile: (record) => ({ result: record.tool }) };
    trip.effect = (name, key) => {
      const done = effect.call(trip, name, key);
      if (name === "car") throw new Error("timed out");
      return done;
    };
    expect(await outcomeOf(book(calls, trip))).toMatchObject({ code: "needs_review" });
    expect(await book(calls, trip)).toMatchObject({ result: "flight, hotel, car" });
    expect(trip.asked).toBe(3);
  });

  it("is fired again by the next run under refire", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const trip = new Trip();
    const { effect } = trip;
    let broken = true;
    trip.effect = (name, key) => {
      const done = effect.call(trip, name, key);
      if (name === "car" && broken) throw new Error("timed out");
      return done;
    };
    await expect(book(calls, trip)).rejects.toThrow("timed out");
    broken = false;
    expect(await book(calls, trip)).toMatchObject({ result: "flight, hotel, car" });
    expect(trip.effects).toEqual(["flight", "hotel", "car"]);
    expect(trip.asked).toBe(4);
  });
});
