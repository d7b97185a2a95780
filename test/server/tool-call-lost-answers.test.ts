import { expect, test } from "vitest";
import { OutcomeUnknownError } from "../../src/base/errors.js";
import { bodyOf, callOf, startCallServer } from "./calls.js";
import { until } from "./gate.js";
import { problemOf, withMethods } from "./test-server.js";

/*
 * What happens when an answer is lost, or a request comes twice: the claimant must find its own claim again, and nobody
 * else's.
 */

const mail = { tool: "send_email", args: { order: 1 }, key: "order-1", pending_ttl: 60 };

test("a claim whose answer was lost is found again by its claim id, renewed and under its own token", async () => {
  const { claim, say, clock, record } = await startCallServer();
  const first = bodyOf(await claim({ ...mail, claim_id: "c-1" }));
  expect(first).toMatchObject({ claimed: true, claim_id: "c-1", fencing_token: 1 });
  clock.advance(50_000);
  const retried = await claim({ ...mail, claim_id: "c-1" });
  expect(retried.headers["idempotent-replayed"]).toBe("true");
  expect(retried.json).toEqual({ ...first, recognised: true });
  expect(await record("send_email:order-1")).toMatchObject({ attempt: 1, renewed_at: "2026-01-01T00:00:50.000Z" });
  // It was renewed: 60 seconds after the first claim nobody else may have it.
  clock.advance(50_000);
  expect((await claim({ ...mail, wait: 0 })).status).toBe(409);
  expect((await say("complete", first, { result: 1 })).json).toMatchObject({ fencing_token: 1, attempt: 1 });
});

test("a claim whose answer was lost is found again by the request's Idempotency-Key", async () => {
  const { claim } = await startCallServer();
  const headers = { "idempotency-key": '"request-1"' };
  const mine = { ...mail, owner: "worker-1" };
  const first = bodyOf(await claim(mine, headers));
  expect((await claim(mine, headers)).json).toEqual({ ...first, recognised: true });
  expect(problemOf(await claim({ ...mine, wait: 0 }, { "idempotency-key": "request-2" })).code).toBe("call_in_flight");
});

test("two workers who take the same Idempotency-Key, against its purpose, do not both get the claim", async () => {
  const { claim } = await startCallServer();
  const headers = { "idempotency-key": "order-1" };
  expect((await claim({ ...mail, owner: "a" }, headers)).json).toMatchObject({ claimed: true });
  expect(problemOf(await claim({ ...mail, owner: "b", wait: 0 }, headers)).code).toBe("call_in_flight");
});

test("workers who share an Idempotency-Key and give no owner are all refused: none of them could be told from the others", async () => {
  const { claim, store } = await startCallServer();
  const headers = { "idempotency-key": "order-1" };
  const answers = await Promise.all([1, 2, 3].map(() => claim({ ...mail, policy: "review" }, headers)));
  for (const refused of answers) {
    expect(problemOf(refused)).toEqual({ status: 400, code: "invalid_request", path: "owner" });
  }
  expect(store.revision).toBe(0);
  // A claim id says whose claim it is, and without the header every claim is one of its own.
  expect((await claim({ ...mail, claim_id: "c-1" }, headers)).json).toMatchObject({ claimed: true, claim_id: "c-1" });
  expect((await claim({ ...mail, key: "order-2" })).json).toMatchObject({ claimed: true });
});

test("a retry that arrives while the first request still waits claims once, and both get that claim", async () => {
  const { claim, say, store, record } = await startCallServer();
  const other = bodyOf(await claim(mail));
  const both = [claim({ ...mail, claim_id: "c-1" }), claim({ ...mail, claim_id: "c-1" })];
  await until(() => store.stats().waiters === 2);
  await say("release", other);
  const answers = (await Promise.all(both)).map(bodyOf);
  expect(answers.map(({ claim_id, attempt }) => [claim_id, attempt])).toEqual([
    ["c-1", 2],
    ["c-1", 2],
  ]);
  expect(await record("send_email:order-1")).toMatchObject({ attempt: 2, claim_id: "c-1" });
});

test("a claim that the store did not answer is recognised by the retry, and not taken back under its hands", async () => {
  let lose = true;
  const { claim, say } = await startCallServer({
    wrap: (store) =>
      withMethods(store, {
        put: async (write) => {
          const result = await store.put(write);
          if (!lose) return result;
          throw new OutcomeUnknownError("the answer was lost");
        },
        getDocument: async (shape, id) => {
          if (!lose) return store.getDocument(shape, id);
          throw new OutcomeUnknownError("the answer was lost");
        },
      }),
  });
  const failed = await claim({ ...mail, claim_id: "c-1" });
  expect(problemOf(failed)).toEqual({ status: 503, code: "outcome_unknown" });
  lose = false;
  const retried = bodyOf(await claim({ ...mail, claim_id: "c-1" }));
  expect(retried).toMatchObject({ claimed: true, recognised: true, attempt: 1 });
  expect((await say("renew", retried)).status).toBe(200);
});

test("a claim without an id of its own whose answer was lost is taken back, so that nobody waits for it", async () => {
  let lose = true;
  const { claim, record, store } = await startCallServer({
    wrap: (inner) =>
      withMethods(inner, {
        put: async (write) => {
          const result = await inner.put(write);
          if (!lose) return result;
          throw new OutcomeUnknownError("the answer was lost");
        },
        getDocument: async (shape, id) => {
          if (!lose) return inner.getDocument(shape, id);
          lose = false;
          throw new OutcomeUnknownError("the answer was lost");
        },
      }),
  });
  expect((await claim(mail)).status).toBe(503);
  await until(() => store.revision === 2);
  expect(await record("send_email:order-1")).toMatchObject({ status: "released", attempt: 1 });
});

test("a late copy of a claim that has ended claims nothing", async () => {
  const { claim, say, record } = await startCallServer();
  await say("release", bodyOf(await claim({ ...mail, claim_id: "c-1" })));
  const late = await claim({ ...mail, claim_id: "c-1" });
  expect(problemOf(late)).toEqual({ status: 409, code: "claim_lost" });
  expect(callOf(late)).toMatchObject({ current: { status: "released", attempt: 1 } });
  expect(await record("send_email:order-1")).toMatchObject({ status: "released" });
  expect((await claim({ ...mail, claim_id: "c-2" })).json).toMatchObject({ claimed: true, attempt: 2 });
});

test("a late copy of a claim that was completed gets the result", async () => {
  const { claim, say } = await startCallServer();
  await say("complete", bodyOf(await claim({ ...mail, claim_id: "c-1" })), { result: 1 });
  expect((await claim({ ...mail, claim_id: "c-1" })).json).toMatchObject({ claimed: false, result: 1 });
});

test("a claim under which the effect was announced is given to nobody again, a restarted holder included", async () => {
  const { claim, say, clock } = await startCallServer();
  const request = { ...mail, marks: true, policy: "review", claim_id: "job-1", wait: 0 };
  const held = bodyOf(await claim(request));
  expect((await say("fired", held)).status).toBe(200);
  expect(problemOf(await claim(request)).code).toBe("call_in_flight");
  clock.advance(60_000);
  expect(problemOf(await claim(request)).code).toBe("needs_review");
});

test("a claim that has lapsed is found again where firing is free, and is a doubt where it is not", async () => {
  const { claim, clock } = await startCallServer();
  const free = { ...mail, key: "free", claim_id: "c-1" };
  const asked = { ...mail, key: "asked", claim_id: "c-1", policy: "review" };
  for (const request of [free, asked]) await claim(request);
  clock.advance(60_000);
  expect((await claim(free)).json).toMatchObject({ claimed: true, recognised: true, attempt: 1, valid_for: 60 });
  expect(problemOf(await claim(asked)).code).toBe("needs_review");
});

test("a settled write that is repeated succeeds, and says the same", async () => {
  const { claim, say } = await startCallServer();
  for (const [action, body] of [
    ["complete", { result: { id: 7 } }],
    ["fail", { error: "card refused" }],
    ["release", {}],
    ["unknown", { error: { message: "timeout" } }],
    ["park", { reason: "waits for Ann" }],
  ] as const) {
    const held = bodyOf(await claim({ ...mail, key: action }));
    const first = await say(action, held, body);
    const second = await say(action, held, body);
    expect([first.status, second.status], action).toEqual([200, 200]);
    expect(second.json, action).toEqual(first.json);
  }
});

test("a completion that is repeated with another result is told that the claim has ended, and with what", async () => {
  const { claim, say, record } = await startCallServer();
  const held = bodyOf(await claim(mail));
  await say("complete", held, { result: { id: 7 } });
  for (const body of [{ result: { id: 8 } }, { result: null }, {}]) {
    const refused = await say("complete", held, body);
    expect(problemOf(refused)).toEqual({ status: 409, code: "claim_lost" });
    expect(callOf(refused)).toMatchObject({ current: { status: "completed", result: { id: 7 } } });
  }
  expect(await record("send_email:order-1")).toMatchObject({ status: "completed", result: { id: 7 } });
});

test("a completion that the store did not answer is repeated by its holder", async () => {
  let lose = false;
  const { claim, say } = await startCallServer({
    wrap: (store) =>
      withMethods(store, {
        put: async (write) => {
          const result = await store.put(write);
          if (!lose) return result;
          lose = false;
          throw new OutcomeUnknownError("the answer was lost");
        },
      }),
  });
  const held = bodyOf(await claim(mail));
  lose = true;
  expect(problemOf(await say("complete", held, { result: 1 })).code).toBe("outcome_unknown");
  expect((await say("complete", held, { result: 1 })).json).toMatchObject({ result: 1, was_replay: false });
});

test("a client that goes away while it waits leaves no claim behind", async () => {
  const { claim, request, say, store, record } = await startCallServer();
  const held = bodyOf(await claim(mail));
  const client = new AbortController();
  const waiting = request("POST", "/v1/tool-calls/claim", { body: mail, signal: client.signal });
  await until(() => store.stats().waiters === 1);
  client.abort();
  await expect(waiting).rejects.toThrow();
  await until(() => store.stats().waiters === 0);
  await say("release", held);
  expect(await record("send_email:order-1")).toMatchObject({ status: "released", attempt: 1 });
});
