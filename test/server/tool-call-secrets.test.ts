import { expect, test } from "vitest";
import { newToken } from "../../server/index.js";
import { toolCalls } from "../../src/tool-calls/index.js";
import { bodyOf, callOf, pathOf, startCallServer } from "./calls.js";
import { problemOf } from "./test-server.js";

/*
 * A token that may write records and not read them. It may put a claim id of its own into any record, so that knowing the
 * claim id of a record must not show what others have stored there.
 */

const mail = { tool: "send_email", args: { order: "secret-args" }, key: "order-1", owner: "secret-owner" };
const path = pathOf("send_email:order-1");
const noResult = { status: 409, code: "claim_lost" };
const withheld = { key: "send_email:order-1", current_omitted: true };

async function startWithWriter() {
  const tokens = {
    worker: newToken("worker", { read: ["tool-call"], write: ["tool-call"] }),
    writer: newToken("writer", { read: [], write: ["tool-call"] }),
  };
  const server = await startCallServer({ tokens: Object.values(tokens).map(({ entry }) => entry) });
  const headersOf = ({ token }: { token: string }) => ({ authorization: `Bearer ${token}` });
  const [worker, writer] = [headersOf(tokens.worker), headersOf(tokens.writer)];
  return {
    ...server,
    claimAsWorker: async (body = {}) => bodyOf(await server.claim({ ...mail, ...body }, worker)),
    asWorker: (action: string, body: object) => server.request("POST", `${path}/${action}`, { body, headers: worker }),
    asWriter: (method: string, address: string, body: object) =>
      server.request(method, address, { body, headers: writer }),
    /** The writer puts its own claim id into the record, and whatever else it likes. */
    seize: async (merge: object = {}) => {
      const address = "/v1/documents/tool-call/send_email%3Aorder-1";
      const body = { merge: { claim_id: "mine", ...merge } };
      expect((await server.request("PATCH", address, { body, headers: writer })).status).toBe(200);
    },
  };
}

test("who may only write gets no stored result by a claim id that it has written into the record itself", async () => {
  const { claimAsWorker, asWorker, asWriter, seize } = await startWithWriter();
  const { claim_id } = await claimAsWorker();
  expect((await asWorker("complete", { claim_id, result: { pin: "secret-result" } })).status).toBe(200);
  await seize();
  for (const body of [{ result: 0 }, { result: null }, {}]) {
    const refused = await asWriter("POST", `${path}/complete`, { claim_id: "mine", ...body });
    expect(problemOf(refused)).toEqual(noResult);
    expect(callOf(refused)).toEqual(withheld);
    expect(refused.text).not.toMatch(/secret|completed|attempt/);
  }
  // A record that it has made to say that its result was left out tells none either.
  await seize({ result_omitted: "too_large" });
  const omitted = await asWriter("POST", `${path}/complete`, { claim_id: "mine", result: 0 });
  expect(omitted.text).not.toContain("secret");
  await seize({ result_omitted: null });
  // What it has sent itself it may be told again: so a settled claim can be repeated.
  const repeated = await asWriter("POST", `${path}/complete`, { claim_id: "mine", result: { pin: "secret-result" } });
  expect(repeated.status).toBe(200);
});

test("who may only write gets no result that is kept beside its record", async () => {
  const { store, clock, asWriter, seize } = await startWithWriter();
  const calls = toolCalls(store, { clock, results: { large: "blob", maxBytes: 10 } });
  await calls.run({ tool: "send_email", args: 1, key: "order-1" }, () => "secret-result, and a long one");
  await seize();
  const refused = await asWriter("POST", `${path}/complete`, { claim_id: "mine", result: 0 });
  expect(problemOf(refused)).toEqual(noResult);
  // Nor that of another call, to which it has made the record refer.
  const { fields } = (await calls.get("send_email:order-1")) ?? {};
  await calls.run({ tool: "send_email", args: 2, key: "order-2" }, () => "another secret-result");
  const other = (await calls.get("send_email:order-2"))?.fields.result_ref ?? "";
  expect(other).not.toBe(fields?.result_ref);
  await seize({ result_ref: other });
  const again = await asWriter("POST", `${path}/complete`, { claim_id: "mine", result: 0 });
  expect(problemOf(again)).toEqual(noResult);
  expect(refused.text + again.text).not.toContain("secret");
  await calls.close();
});

const ends = [
  ["renew", {}],
  ["fired", {}],
  ["complete", { result: 0 }],
  ["fail", { error: "x" }],
  ["release", {}],
  ["unknown", { error: "x" }],
  ["park", { reason: "x" }],
] as const;

test.each([
  ["pending", undefined],
  ["completed", ["complete", { result: "secret-result" }]],
  ["failed", ["fail", { error: "secret-error" }]],
  ["released", ["release", { error: "secret-error" }]],
  ["unknown", ["unknown", { error: "secret-error" }]],
  ["parked", ["park", { reason: "secret-reason" }]],
] as const)(
  "of a record that is %s who may only write is told nothing, with its claim id in it or not",
  async (_, end) => {
    for (const [action, body] of ends) {
      for (const isSeized of [false, true]) {
        const { claimAsWorker, asWorker, asWriter, seize } = await startWithWriter();
        const { claim_id } = await claimAsWorker({ policy: "review", extra: { note: "secret-extra" } });
        if (end !== undefined) expect((await asWorker(end[0], { claim_id, ...end[1] })).status).toBe(200);
        if (isSeized) await seize();
        const answer = await asWriter("POST", `${path}/${action}`, { claim_id: "mine", ...body });
        expect(answer.text, action).not.toContain("secret");
        if (answer.status !== 200) expect(callOf(answer), action).toEqual(withheld);
        if (!isSeized) expect(problemOf(answer)).toEqual(noResult);
      }
    }
  },
);

test("who may only write is told nothing that it would have to read for", async () => {
  const { claimAsWorker, asWorker, asWriter } = await startWithWriter();
  const { claim_id } = await claimAsWorker();
  await asWorker("complete", { claim_id, result: "secret-result" });
  for (const [address, body] of [
    ["/v1/tool-calls/claim", mail],
    ["/v1/tool-calls/claim", { ...mail, args: 1 }],
    ["/v1/tool-calls/prepare", { tool: "send_email", args: 1, key: "order-1" }],
    [`${path}/resolve`, { by: "x", not_done: true }],
    [`${path}/approve`, { by: "x", fingerprint: "f" }],
  ] as const) {
    const refused = await asWriter("POST", address, body);
    expect(problemOf(refused), address).toEqual({ status: 403, code: "forbidden" });
    expect(refused.text).not.toContain("secret");
  }
});

test("of what is no record at all only a reader is shown a piece", async () => {
  const { store, asWriter, asWorker } = await startWithWriter();
  await store.put({ shape: "tool-call", id: "send_email:order-1", set: { format: 1, tool: { text: "secret-field" } } });
  const body = { claim_id: "mine", result: 0 };
  const refused = await asWriter("POST", `${path}/complete`, body);
  expect(problemOf(refused)).toEqual({ status: 500, code: "record_malformed" });
  expect(refused.text).not.toMatch(/secret|"tool/);
  expect((await asWorker("complete", body)).text).toContain("secret-field");
});
