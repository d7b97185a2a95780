import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { makeHandlerIdempotent } from "@aws-lambda-powertools/idempotency/middleware";
import { describe, expect, it } from "vitest";
import { Claims } from "../../client/adapters/powertools/claims.js";
import type { EmbeddedStore } from "../../src/level/index.js";
import { context, Gate, type Lambda, type Layer, openScene, type Scene } from "./powertools-scene.js";

// Powertools has no fencing token: a worker that comes back late calls the layer as if its claim still held.

const order = { id: "order-7", amount: 10 };
const short = { getRemainingTimeInMillis: () => 1000 };

/** A late worker, whose handler ends when the test says so, and whose claim has lapsed by now. */
async function lateWorker(
  scene: Scene,
  end: () => unknown,
): Promise<{ lambda: Lambda; ending: () => Promise<unknown> }> {
  const gate = new Gate();
  const lambda = scene.lambda(async (_order, effect) => {
    if (effect > 1) return `by the successor, effect ${effect}`;
    await gate.pass();
    return end();
  });
  const invocation = lambda.invoke(order, short);
  await gate.reached;
  scene.clock.advance(1001);
  return {
    lambda,
    ending: () => {
      gate.open();
      return invocation;
    },
  };
}

const lost = { name: "IdempotencyPersistenceLayerError", cause: { code: "claim_lost" } };

describe("a worker whose claim was taken over by another process", () => {
  it("does not write over the result of its successor, and is told so", async () => {
    const scene = await openScene();
    const { ending } = await lateWorker(scene, () => "late");
    const successor = scene.lambda(() => "by the successor");
    expect(await successor.invoke(order)).toBe("by the successor");
    await expect(ending()).rejects.toMatchObject(lost);
    expect(await successor.invoke(order)).toBe("by the successor");
  });

  it("does not write over the claim of its successor", async () => {
    const scene = await openScene();
    const { ending } = await lateWorker(scene, () => "late");
    const gate = new Gate();
    const running = scene.lambda(() => gate.pass()).invoke(order);
    await gate.reached;
    await expect(ending()).rejects.toMatchObject(lost);
    expect(await scene.records()).toMatchObject([{ status: "INPROGRESS" }]);
    gate.open();
    await running;
    expect(await scene.records()).toMatchObject([{ status: "COMPLETED" }]);
  });

  it("does not take the claim of its successor back when it fails, and its own error reaches its caller", async () => {
    const scene = await openScene();
    const { ending } = await lateWorker(scene, () => {
      throw new Error("connection reset");
    });
    const gate = new Gate();
    const running = scene.lambda(() => gate.pass()).invoke(order);
    await gate.reached;
    await expect(ending()).rejects.toThrow("connection reset");
    const third = scene.lambda(() => "by a third").invoke(order);
    await expect(third).rejects.toMatchObject({ name: "IdempotencyAlreadyInProgressError" });
    gate.open();
    await running;
    expect(scene.effects).toBe(2);
  });

  it("records its result where nobody has come meanwhile, also when its record has expired", async () => {
    for (const advance of [0, 3_600_000]) {
      const scene = await openScene();
      const { ending } = await lateWorker(scene, () => "late");
      scene.clock.advance(advance);
      expect(await ending()).toBe("late");
      expect(await scene.lambda(() => "again").invoke(order)).toBe("late");
      expect(scene.effects).toBe(1);
    }
  });
});

describe("a worker whose claim was taken over in its own process, where one layer serves both", () => {
  it("is told so when it ends after its successor", async () => {
    const scene = await openScene();
    const { lambda, ending } = await lateWorker(scene, () => "late");
    expect(await lambda.invoke(order)).toBe("by the successor, effect 2");
    await expect(ending()).rejects.toMatchObject(lost);
    expect(await lambda.invoke(order)).toBe("by the successor, effect 2");
  });

  it("does not take the claim of its successor back when it fails", async () => {
    const scene = await openScene();
    const first = new Gate();
    const second = new Gate();
    const { invoke } = scene.lambda(async (_order, effect) => {
      await (effect === 1 ? first : second).pass();
      if (effect === 1) throw new Error("connection reset");
      return "by the successor";
    });
    const late = invoke(order, short);
    await first.reached;
    scene.clock.advance(1001);
    const successor = invoke(order);
    await second.reached;
    first.open();
    await expect(late).rejects.toThrow("connection reset");
    await expect(invoke(order)).rejects.toMatchObject({ name: "IdempotencyAlreadyInProgressError" });
    second.open();
    expect([await successor, await invoke(order), scene.effects]).toEqual(["by the successor", "by the successor", 2]);
  });
});

describe("a worker whose result could not be recorded", () => {
  it("is told so, and its claim stays until it lapses", async () => {
    const scene = await openScene();
    const down = new Set<string>();
    const store = unreliable(scene.store, down);
    const { invoke } = scene.lambda(
      () => {
        down.add("put");
        return "charged";
      },
      {},
      store,
    );
    const failure = { name: "IdempotencyPersistenceLayerError", cause: { message: "cut" } };
    await expect(invoke(order, short)).rejects.toMatchObject(failure);
    const next = scene.lambda(() => "again");
    await expect(next.invoke(order)).rejects.toMatchObject({ name: "IdempotencyAlreadyInProgressError" });
    scene.clock.advance(1001);
    expect(await next.invoke(order)).toBe("again");
  });

  it("does not take its claim back after its work was done, as the middleware for Middy asks for", async () => {
    const scene = await openScene();
    const down = new Set<string>();
    const hooks = middy(scene.layer(unreliable(scene.store, down)));
    await hooks.before();
    down.add("put");
    await expect(hooks.after("charged")).rejects.toMatchObject({ cause: { message: "cut" } });
    await hooks.onError();
    expect(await scene.records()).toMatchObject([{ status: "INPROGRESS" }]);
  });

  it("does not remove its successor's record under Middy", async () => {
    const scene = await openScene();
    const hooks = middy(scene.layer(), short);
    await hooks.before();
    scene.clock.advance(1001);
    const other = middy(scene.layer());
    await other.before();
    await other.after("by the successor");
    await expect(hooks.after("late")).rejects.toMatchObject(lost);
    await hooks.onError();
    expect(await scene.records()).toMatchObject([{ status: "COMPLETED", data: '"by the successor"' }]);
  });
});

describe("a worker that a layer knows no claim of", () => {
  it("completes a claim that an earlier process has made, as durable functions do on a replay", async () => {
    const scene = await openScene();
    const gate = new Gate();
    const config = new IdempotencyConfig({ eventKeyJmesPath: "id" });
    const runs: string[] = [];
    const durable = (layer: Layer, work: () => unknown) =>
      makeIdempotent((_order: typeof order, _context: object) => work(), {
        persistenceStore: layer,
        config,
        keyPrefix: "d",
      });
    void durable(scene.layer(), () => gate.pass())(order, { step: true, lambdaContext: context });
    await gate.reached;
    const replaying = { step: true, lambdaContext: context, durableExecutionMode: "ReplayMode" };
    for (const run of ["second", "third"]) {
      const replay = durable(scene.layer(), () => {
        runs.push(run);
        return run;
      });
      expect(await replay(order, replaying)).toBe(run);
    }
    expect(runs).toEqual(["second", "third"]);
    // What was recorded first stays: the worker of the third run cannot show a claim.
    expect(await scene.records()).toMatchObject([{ status: "COMPLETED", data: '"second"' }]);
  });
});

describe("what a layer remembers", () => {
  it("is bounded, the oldest claims going first", () => {
    const claims = new Claims();
    for (let n = 0; n < 10_005; n++) claims.made(`${n}`, n);
    expect([claims.get("4"), claims.get("5")?.revision]).toEqual([undefined, 5]);
  });

  it("is forgotten when a claim ends", async () => {
    const claims = new Claims();
    claims.made("a", 1);
    claims.made("a", 2);
    claims.ended("a");
    expect(claims.get("a")).toEqual({ revision: 2, workers: 1, carriedOut: false });
    claims.ended("a");
    claims.ended("a");
    expect(claims.get("a")).toBeUndefined();
  });
});

/** The store over a connection that drops the calls named in `down`. */
function unreliable(store: EmbeddedStore, down: ReadonlySet<string>): EmbeddedStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (typeof name === "string" && down.has(name)) return () => Promise.reject(new Error("cut"));
      return member.bind(target);
    },
  });
}

interface MiddyHooks {
  readonly before: () => Promise<void>;
  readonly after: (response: unknown) => Promise<void>;
  readonly onError: () => Promise<void>;
}

/** The middleware as Middy calls it for one request. */
function middy(layer: Layer, lambdaContext: object = context): MiddyHooks {
  const hooks = makeHandlerIdempotent({
    persistenceStore: layer,
    keyPrefix: "charge",
    config: new IdempotencyConfig({ eventKeyJmesPath: "id" }),
  });
  const request = { event: order, context: lambdaContext, internal: {}, response: undefined as unknown, error: null };
  const call = (hook: unknown): Promise<void> =>
    Promise.resolve((hook as (given: object) => unknown)(request)).then(() => {});
  return {
    before: () => call(hooks.before),
    after: (response) => {
      request.response = response;
      return call(hooks.after);
    },
    onError: () => call(hooks.onError),
  };
}
