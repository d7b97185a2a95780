import { describe, expect, it } from "vitest";
import type { Fields } from "../../src/documents/contract.js";
import { headerKeyOf } from "../../src/tool-calls/keys.js";
import { guardTool } from "../../src/tools/index.js";
import { send } from "../idempotency/loopback.js";
import { startExpress } from "../idempotency/services.js";
import { book, Trip } from "../saga/trip.js";
import { Mailbox } from "../tools/tool-scene.js";
import { openScene, outcomeOf, type Scene, SlowTool, settled } from "./scene.js";

/*
 * What an earlier version has written must be found and understood by the next one: a key that is made in another way, or
 * a record that is read in another way, fires every effect of the last hour again. All texts here are as they were
 * written once, and are not made by the code under test. A test that fails here is not to be adjusted; the format needs a
 * number of its own.
 */

const request = { tool: "charge", args: { amount: 10 }, key: "order-7", pendingTtl: 30 };
const fingerprint = "a8b88b82fe90a16048eb8851fe382405395cd395dafaa7ca9be90ec00f82a72b";

/** What every record of the first format has, before records kept the window of their claim. */
const common: Fields = {
  format: 1,
  tool: "charge",
  key: "charge:order-7",
  fingerprint,
  intent: { amount: 10 },
  policy: "refire",
  marks: false,
  claim_id: "3f0c",
  phase: null,
  owner: "host:17",
  attempt: 2,
  hold: null,
  fencing_token: null,
  started_at: "2025-12-31T23:58:00.000Z",
  renewed_at: null,
  fired_at: null,
  completed_at: null,
  history: [],
};

const settledBy = { fencing_token: 41, completed_at: "2025-12-31T23:58:01.000Z" } as const;

/** The record as the earlier version left it, and a worker of this one. */
async function left(fields: Fields): Promise<Scene & { readonly calls: ReturnType<Scene["worker"]>["calls"] }> {
  const scene = await openScene();
  await scene.store.put({ shape: "tool-call", id: "charge:order-7", set: { ...common, ...fields } });
  return { ...scene, calls: scene.worker("new").calls };
}

describe("the record of an earlier version", () => {
  it("that is completed is replayed, with its result, its time and its attempt", async () => {
    const { calls } = await left({ status: "completed", ...settledBy, result: { charge: 7 } });
    const tool = new SlowTool();
    expect(await calls.run(request, tool.run)).toEqual({
      result: { charge: 7 },
      was_replay: true,
      original_called_at: "2025-12-31T23:58:00.000Z",
      key: "charge:order-7",
      attempt: 2,
      fencing_token: 41,
      persisted: true,
    });
    expect(await outcomeOf(calls.run({ ...request, args: { amount: 11 } }, tool.run))).toMatchObject({
      code: "idempotency_conflict",
      bound_fingerprint: fingerprint,
    });
    expect(tool.fires).toBe(0);
  });

  it("that has no result is replayed as undefined, or says why it has none", async () => {
    const bare = await left({ status: "completed", ...settledBy });
    expect((await bare.calls.run(request, () => "again")).result).toBeUndefined();
    const large = await left({ status: "completed", ...settledBy, result_omitted: "too_large" });
    expect(await large.calls.run(request, () => "again")).toMatchObject({
      was_replay: true,
      result_omitted: "too_large",
    });
  });

  it("that has failed is the same failure until its hold is over, and then a further attempt", async () => {
    const error = { name: "CardError", message: "card refused", code: "card_declined", status: 402 };
    const { calls, advance } = await left({ status: "failed", ...settledBy, error, hold: 60 });
    expect(await outcomeOf(calls.run(request, () => "charged"))).toMatchObject({
      code: "tool_call_failed",
      retryAfter: 60,
      cause: error,
    });
    await advance(60);
    expect(await calls.run(request, () => "charged")).toMatchObject({ result: "charged", attempt: 3 });
  });

  it("that is pending is waited for as long as its hold, and then taken over", async () => {
    const { calls, advance } = await left({ status: "pending", phase: "run", hold: 20 });
    expect(await outcomeOf(calls.run({ ...request, wait: false }, () => 1))).toMatchObject({
      code: "call_in_flight",
      retryAfter: 20,
      owner: "host:17",
    });
    const next = calls.run({ ...request, waitTimeout: 60 }, () => "charged");
    await advance(21);
    expect(await next).toMatchObject({ result: "charged", attempt: 3 });
  });

  it("that was written down, released or parked is claimed again, with its policy and its history kept", async () => {
    const history = [{ by: "ann", note: "", at: "2025-12-31T23:58:30.000Z", verdict: "not_done", status: "unknown" }];
    for (const fields of [
      { status: "planned", claim_id: null, owner: null, started_at: null, attempt: 0 },
      { status: "released", last_error: { name: "Error", message: "refused" } },
      { status: "parked", reason: "approval" },
    ]) {
      const { calls } = await left({ ...fields, policy: "review", history });
      const outcome = await calls.run(request, (call) => call.history);
      expect(outcome).toMatchObject({ result: history, was_replay: false });
      expect((await calls.get("charge:order-7"))?.fields).toMatchObject({ policy: "review", history });
    }
  });

  it("whose outcome is in doubt stays so until it is resolved", async () => {
    const error = { name: "Error", message: "timed out" };
    const { calls } = await left({ status: "unknown", policy: "review", error });
    expect(await outcomeOf(calls.run(request, () => "again"))).toMatchObject({ code: "needs_review" });
    await calls.resolve("charge:order-7", { result: "charged" }, { by: "ann", fingerprint });
    expect(await calls.run(request, () => "again")).toMatchObject({ result: "charged", was_replay: true });
  });

  it("is settled by the holder that has claimed it before the upgrade", async () => {
    const { calls, store } = await left({ status: "pending", phase: "run", hold: 300 });
    const waiting = calls.run(request, () => "again");
    await settled();
    await store.put({
      shape: "tool-call",
      id: "charge:order-7",
      set: { ...common, status: "completed", ...settledBy, result: "charged" },
      if_match: { fields: { claim_id: "3f0c", status: "pending" } },
    });
    expect(await waiting).toMatchObject({ result: "charged", was_replay: true });
  });

  it("of a request over HTTP is found by the next such request, and its stored answer sent", async () => {
    const { worker, store } = await openScene();
    await store.put({ shape: "tool-call", id: "ann/http-request:k", set: JSON.parse(requestRecord) });
    let runs = 0;
    const handler = () => ({ status: 500, body: `run ${++runs}` });
    const port = await startExpress(handler, { calls: worker("new").calls });
    const answer = await send(port, {
      body: '{"item": "tea"}',
      headers: { "idempotency-key": "k", "x-caller": "ann" },
    });
    expect(answer).toMatchObject({
      status: 201,
      headers: { location: "/orders/7", "content-type": "text/plain", "idempotent-replayed": "true" },
    });
    expect(answer.bytes.toString()).toBe("made");
    expect(runs).toBe(0);
  });
});

describe("keys are what they were in every earlier version", () => {
  it("of calls by their arguments, by a given key and in a scope, and as a header", async () => {
    const { calls } = (await openScene()).worker("A");
    const { tool, args } = request;
    expect(calls.keyOf({ tool, args })).toBe(`charge:${fingerprint}`);
    expect(calls.keyOf(request)).toBe("charge:order-7");
    expect(calls.keyOf({ ...request, scope: "run/7" })).toBe("run%2F7/charge:order-7");
    expect(calls.keyOf({ tool, args, key: fingerprint })).toBe(`charge:key:${fingerprint}`);
    expect(headerKeyOf("charge:order-7")).toBe("charge:order-7");
    expect(headerKeyOf("t:\u00e9")).toBe("sha256-681625a140af9ba880e30963c20329be741a89f4cc02c3bb8bef95c6563448f7");
  });

  it("of guarded tools, in their scope and by what their schema made of the arguments", async () => {
    const { worker, store } = await openScene();
    const { execute } = guardTool(new Mailbox().tool, worker("A").calls, { scope: "turn-1" });
    await execute({ to: " Ann@Example.com", subject: "hi" });
    expect(await idsIn(store)).toEqual([
      "turn-1/send_email:f45f701c40ad83c0253a8a5e3ac0c9adc57b8df678adbfc7090a11ee0339c076",
    ]);
  });

  it("of sagas and their steps", async () => {
    const { worker, store } = await openScene();
    await book(worker("A").calls, new Trip());
    expect(await idsIn(store)).toEqual(["trip%3A7/car:step", "trip%3A7/flight:step", "trip%3A7/hotel:step", "trip:7"]);
  });
});

async function idsIn(store: Scene["store"]): Promise<string[]> {
  return (await store.list("tool-call")).documents.map(({ id }) => id);
}

/** Of a POST to /orders with the body {"item": "tea"}, by the caller "ann". */
const requestRecord = `{"format":1,"tool":"http-request","key":"ann/http-request:k",
"fingerprint":"46c1f83f723c3f6af6e694a5eb8a88ae1efabdb89b27095e06fa103da12d3cc3","intent":null,"policy":"refire",
"marks":false,"status":"completed","claim_id":"3f0c","phase":null,"owner":"host:17","attempt":1,"hold":null,
"fencing_token":5,"started_at":"2025-12-31T23:58:00.000Z","renewed_at":null,"fired_at":null,
"completed_at":"2025-12-31T23:58:01.000Z","history":[],"result":{"format":1,"status":201,
"headers":[["location","/orders/7"],["content-type","text/plain"]],"body":"made","body_encoding":"utf8"}}`;
