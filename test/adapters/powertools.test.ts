import * as idempotency from "@aws-lambda-powertools/idempotency";
import * as persistence from "@aws-lambda-powertools/idempotency/persistence";
import { describe, expect, it } from "vitest";
import { persistenceLayer } from "../../client/adapters/powertools/index.js";
import { openStore } from "../../src/level/index.js";
import { temporaryFolder } from "../store/temporary-folder.js";
import { clientsOf, Gate, type Layer, openScene, Scene, shape, silenceWarnings } from "./powertools-scene.js";

const order = { id: "order-7", amount: 10 };

describe("an idempotent handler over the layer", () => {
  it("has its effect once, and its answer is replayed", async () => {
    const scene = await openScene();
    const { invoke } = scene.lambda(({ amount }, effect) => ({ charged: amount, effect }));
    expect(await invoke(order)).toEqual({ charged: 10, effect: 1 });
    expect(await invoke({ ...order })).toEqual({ charged: 10, effect: 1 });
    expect(await invoke({ id: "order-8", amount: 20 })).toEqual({ charged: 20, effect: 2 });
    expect(scene.effects).toBe(2);
  });

  it("has its effect once for concurrent invocations in one process", async () => {
    const scene = await openScene();
    const gate = new Gate();
    const { invoke } = scene.lambda(async () => {
      await gate.pass();
      return "charged";
    });
    const first = invoke(order);
    await gate.reached;
    const others = await Promise.allSettled(Array.from({ length: 20 }, () => invoke(order)));
    for (const other of others) {
      expect(other).toMatchObject({ reason: { name: "IdempotencyAlreadyInProgressError" } });
    }
    gate.open();
    expect([await first, await invoke(order), scene.effects]).toEqual(["charged", "charged", 1]);
  });

  it("has its effect once for concurrent invocations in many processes over HTTP", async () => {
    const scene = await openScene();
    const lambdas = (await clientsOf(scene, 8)).map((client) => scene.lambda(() => "charged", {}, client));
    const outcomes = await Promise.allSettled(lambdas.map(({ invoke }) => invoke(order)));
    for (const outcome of outcomes) {
      if (outcome.status === "fulfilled") expect(outcome.value).toBe("charged");
      else expect(outcome.reason).toMatchObject({ name: "IdempotencyAlreadyInProgressError" });
    }
    expect(await Promise.all(lambdas.map(({ invoke }) => invoke(order)))).toEqual(lambdas.map(() => "charged"));
    expect(scene.effects).toBe(1);
  });

  it("runs again when it failed, and its own error reaches the caller", async () => {
    const scene = await openScene();
    const { invoke } = scene.lambda((_order, effect) => {
      if (effect === 1) throw new Error("card declined");
      return "charged";
    });
    await expect(invoke(order)).rejects.toThrow("card declined");
    expect(await scene.records()).toEqual([]);
    expect(await invoke(order)).toBe("charged");
  });

  it("runs again when its record has expired, by the store's clock", async () => {
    const scene = await openScene();
    const { invoke } = scene.lambda((_order, effect) => effect, { expiresAfterSeconds: 60 });
    expect(await invoke(order)).toBe(1);
    scene.clock.advance(59_000);
    expect(await invoke(order)).toBe(1);
    scene.clock.advance(2000);
    expect(await invoke(order)).toBe(2);
  });

  it("is not entered when the store cannot be reached", async () => {
    const scene = await openScene();
    const { invoke } = scene.lambda(() => "charged");
    await scene.store.close();
    const refusal = { name: "IdempotencyPersistenceLayerError", cause: { code: "store_closed" } };
    await expect(invoke(order)).rejects.toMatchObject(refusal);
    expect(scene.effects).toBe(0);
  });

  it("is refused with another payload under the same key", async () => {
    const scene = await openScene();
    const gate = new Gate();
    const work = async (): Promise<string> => {
      await gate.pass();
      return "charged";
    };
    const { invoke } = scene.lambda(work, { payloadValidationJmesPath: "amount" });
    const first = invoke(order);
    await gate.reached;
    const refusal = { name: "IdempotencyValidationError" };
    await expect(invoke({ ...order, amount: 11 })).rejects.toMatchObject(refusal);
    gate.open();
    await first;
    await expect(invoke({ ...order, amount: 11 })).rejects.toMatchObject(refusal);
    expect([await invoke(order), scene.effects]).toEqual(["charged", 1]);
  });

  it("has its replays go through the response hook, with the record", async () => {
    const scene = await openScene();
    const seen: persistence.IdempotencyRecord[] = [];
    const { invoke } = scene.lambda(() => ({ charged: true }), {
      responseHook: (response, record) => {
        seen.push(record);
        return { response, replayed: true };
      },
    });
    expect(await invoke(order)).toEqual({ charged: true });
    expect(await invoke(order)).toEqual({ response: { charged: true }, replayed: true });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toBeInstanceOf(persistence.IdempotencyRecord);
    // The store's clock is months away; what Powertools is given is of the clock that it reads.
    const secondsLeft = (seen[0]?.expiryTimestamp ?? 0) - Date.now() / 1000;
    expect(secondsLeft).toBeGreaterThan(3500);
    expect(secondsLeft).toBeLessThan(3700);
  });

  it("replays from its local cache without the store", async () => {
    const scene = await openScene();
    const { invoke } = scene.lambda(() => "charged", { useLocalCache: true });
    const other = scene.lambda(() => "charged", { useLocalCache: true });
    await invoke(order);
    expect(await other.invoke(order)).toBe("charged");
    await scene.store.close();
    expect([await invoke(order), await other.invoke(order), scene.effects]).toEqual(["charged", "charged", 1]);
  });

  it("does not keep a claim in its local cache", async () => {
    const scene = await openScene();
    const gate = new Gate();
    const first = scene.lambda(() => gate.pass());
    const second = scene.lambda(() => "charged", { useLocalCache: true });
    const running = first.invoke(order);
    await gate.reached;
    await expect(second.invoke(order)).rejects.toMatchObject({ name: "IdempotencyAlreadyInProgressError" });
    gate.open();
    await running;
    expect(await second.invoke(order)).toBeUndefined();
    expect(scene.effects).toBe(1);
  });
});

describe("the result of a handler", () => {
  it.each([
    ["nothing", undefined, undefined],
    ["null", null, null],
    ["a text with a lone surrogate", "\ud800", "\ud800"],
    ["a number that no document holds", 2 ** 60, 2 ** 60],
    ["a date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["an object with members that are undefined", { a: undefined, b: [1] }, { b: [1] }],
  ])("that is %s is replayed as JSON has it", async (_name, result, replayed) => {
    const scene = await openScene();
    const { invoke } = scene.lambda(() => result);
    expect(await invoke(order)).toEqual(result);
    expect(await invoke(order)).toEqual(replayed);
    expect(scene.effects).toBe(1);
  });

  it.each([
    ["is too large", "x".repeat(1024 * 1024), "too_large"],
    ["is not JSON", { amount: 10n }, "invalid_request"],
  ])("that %s reaches its caller; others are told so, and nothing happens again", async (_name, result, code) => {
    const scene = await openScene();
    const { invoke } = scene.lambda(() => result);
    expect(await invoke(order)).toBe(result);
    for (let n = 0; n < 2; n++) {
      const refusal = { name: "IdempotencyPersistenceLayerError", cause: { code } };
      await expect(invoke(order)).rejects.toMatchObject(refusal);
    }
    expect(scene.effects).toBe(1);
  });
});

describe("a process that dies between its claim and the end of its call", () => {
  const dying = { getRemainingTimeInMillis: () => 1000 };

  it("keeps its claim for the time that its invocation had left, and then the next one runs", async () => {
    const scene = await openScene();
    const gate = new Gate();
    void scene.lambda(() => gate.pass()).invoke(order, dying);
    await gate.reached;
    const next = scene.lambda(() => "charged");
    scene.clock.advance(500);
    await expect(next.invoke(order)).rejects.toMatchObject({ name: "IdempotencyAlreadyInProgressError" });
    scene.clock.advance(501);
    expect([await next.invoke(order), scene.effects]).toEqual(["charged", 2]);
  });

  it("keeps it until the record expires when Powertools was given no context", async () => {
    silenceWarnings();
    const scene = await openScene();
    const gate = new Gate();
    const unbounded = { getRemainingTimeInMillis: () => 0 };
    void scene.lambda(() => gate.pass(), { expiresAfterSeconds: 600 }).invoke(order, unbounded);
    await gate.reached;
    const next = scene.lambda(() => "charged");
    scene.clock.advance(598_000);
    await expect(next.invoke(order)).rejects.toMatchObject({ name: "IdempotencyAlreadyInProgressError" });
    scene.clock.advance(3000);
    expect(await next.invoke(order)).toBe("charged");
  });

  it("is followed by exactly one of many that come at the same time", async () => {
    const scene = await openScene();
    const gate = new Gate();
    void scene.lambda(() => gate.pass()).invoke(order, dying);
    await gate.reached;
    scene.clock.advance(1001);
    const second = new Gate();
    const stores = [...(await clientsOf(scene, 5)), ...Array.from({ length: 5 }, () => scene.store)];
    const running = stores.map((store) => scene.lambda(() => second.pass(), {}, store).invoke(order));
    await second.reached;
    // The one that runs does not end before the gate opens: all the others must have been refused by then.
    const refused = running.map((invocation) =>
      invocation.then(
        () => "ran",
        (error: Error) => error.name,
      ),
    );
    const firstNine = await new Promise<string[]>((resolve) => {
      const names: string[] = [];
      for (const each of refused) void each.then((name) => names.push(name) === 9 && resolve(names));
    });
    expect(new Set(firstNine)).toEqual(new Set(["IdempotencyAlreadyInProgressError"]));
    expect(scene.effects).toBe(2);
    second.open();
    expect((await Promise.all(refused)).filter((name) => name === "ran")).toHaveLength(1);
  });

  it("is remembered by a store on disk that is opened again", async () => {
    const dataDir = await temporaryFolder();
    const { clock } = await openScene();
    const store = await openStore({ dataDir, clock });
    const gate = new Gate();
    void new Scene(store, clock).lambda(() => gate.pass()).invoke(order, dying);
    await gate.reached;
    await store.close();
    const again = await openStore({ dataDir, clock });
    const { invoke } = new Scene(again, clock).lambda(() => "charged");
    await expect(invoke(order)).rejects.toMatchObject({ name: "IdempotencyAlreadyInProgressError" });
    clock.advance(1001);
    expect(await invoke(order)).toBe("charged");
    await again.close();
  });
});

describe("a layer", () => {
  it("has the type and the class that Powertools wants", async () => {
    const scene = await openScene();
    const layer: Layer = scene.layer();
    expect(layer).toBeInstanceOf(persistence.BasePersistenceLayer);
  });

  it("gives a record by its data, or the error of Powertools for one that is not there", async () => {
    const scene = await openScene();
    const { layer, invoke } = scene.lambda(() => ({ charged: true }));
    await invoke(order);
    const record = await layer.getRecord({ ...order });
    expect([record.getStatus(), record.getResponse()]).toEqual(["COMPLETED", { charged: true }]);
    await expect(layer.getRecord({ id: "order-8" })).rejects.toBeInstanceOf(idempotency.IdempotencyItemNotFoundError);
    await layer.deleteRecord({ ...order });
    await expect(layer.getRecord({ ...order })).rejects.toBeInstanceOf(idempotency.IdempotencyItemNotFoundError);
  });

  it("refuses a document that is no record of Powertools", async () => {
    const scene = await openScene();
    const { invoke } = scene.lambda(() => "charged");
    await invoke(order);
    const [record] = (await scene.store.list(shape)).documents;
    await scene.store.put({ shape, id: record?.id ?? "", set: { status: "PENDING" } });
    const refusal = { name: "IdempotencyPersistenceLayerError", cause: { code: "record_malformed" } };
    await expect(invoke(order)).rejects.toMatchObject(refusal);
  });

  it("judges the classes and the options that it is given", async () => {
    const { store } = await openScene();
    const classes = { ...idempotency, ...persistence };
    expect(() => persistenceLayer(persistence as unknown as typeof classes, store)).toThrow(/ItemAlreadyExistsError/);
    expect(() => persistenceLayer(classes, store, { table: "t" } as object)).toThrow(/table/);
    expect(() => persistenceLayer(classes, store, { shape: "No Shape" })).toThrow(/shape/);
  });
});
