import { expect, test } from "vitest";
import { newToken, type TokenScopes } from "../../server/index.js";
import { pathOf, startCallServer } from "./calls.js";
import { problemOf } from "./test-server.js";

const forbidden = { status: 403, code: "forbidden" };
const both = { read: ["*"], write: ["*"] };

async function startWith<Name extends string>(scopes: Record<Name, TokenScopes>) {
  const tokens = Object.entries<TokenScopes>(scopes).map(([name, scope]) => newToken(name, scope));
  const server = await startCallServer({ tokens: tokens.map(({ entry }) => entry) });
  const as = (name: Name) => {
    const found = tokens.find(({ entry }) => entry.name === name);
    return { authorization: `Bearer ${found?.token}` };
  };
  return { ...server, as };
}

test("the server's numbers are for those who administer all of it, and for tokens from before there was that scope", async () => {
  const { request, as } = await startWith({
    before: { read: [], write: [] },
    none: { ...both, admin: [] },
    some: { ...both, admin: ["tool-call", "note"] },
    scraper: { read: [], write: [], admin: ["*"] },
  });
  for (const path of ["/v1/stats", "/metrics"]) {
    for (const name of ["before", "scraper"] as const) {
      expect((await request("GET", path, { headers: as(name) })).status, `${name} ${path}`).toBe(200);
    }
    for (const name of ["none", "some"] as const) {
      const answer = await request("GET", path, { headers: as(name) });
      expect(problemOf(answer), `${name} ${path}`).toEqual(forbidden);
      expect(answer.text).toContain(`the token \\"${name}\\" may not administer all shapes`);
    }
  }
  expect((await request("GET", "/openapi.json", { headers: as("none") })).status).toBe(200);
  expect(problemOf(await request("GET", "/v1/documents/note", { headers: as("scraper") }))).toEqual(forbidden);
});

test("who may not administer calls claims and settles them, and neither decides nor writes a record by hand", async () => {
  const { request, claim, as } = await startWith({
    worker: { ...both, admin: [] },
    operator: { ...both, admin: ["tool-call"] },
    blind: { read: [], write: [], admin: ["tool-call"] },
  });
  const worker = as("worker");
  const call = { tool: "pay", args: 1, key: "k", policy: "review", owner: "w", claim_id: "c", wait: 0 };
  expect((await claim(call, worker)).status).toBe(200);
  const path = pathOf("pay:k");
  const settled = await request("POST", `${path}/unknown`, { headers: worker, body: { claim_id: "c", error: "lost" } });
  expect(settled.status).toBe(200);

  const record = `/v1/documents/tool-call/${encodeURIComponent("pay:k")}`;
  const operation = { shape: "tool-call", id: "pay:k" };
  const decisions = [
    ["POST", `${path}/resolve`, { not_done: true, by: "me" }],
    ["POST", `${path}/approve`, { by: "me", fingerprint: "x" }],
    ["DELETE", path, undefined],
    ["PUT", record, { set: { status: "completed" } }],
    ["PATCH", record, { merge: { status: "completed" } }],
    ["DELETE", record, undefined],
    ["POST", "/v1/batch", { operations: [{ op: "put", ...operation, set: {} }] }],
    ["POST", "/v1/batch", { operations: [{ op: "patch", ...operation, merge: {} }] }],
    ["POST", "/v1/batch", { operations: [{ op: "delete", ...operation }] }],
  ] as const;
  for (const [method, address, body] of decisions) {
    for (const name of ["worker", "blind"] as const) {
      const options = { headers: as(name), ...(body === undefined ? {} : { body }) };
      expect(problemOf(await request(method, address, options)), `${name} ${method} ${address}`).toEqual(forbidden);
    }
  }
  expect((await request("GET", path, { headers: worker })).json).toMatchObject({ fields: { status: "unknown" } });
  const resolved = await request("POST", `${path}/resolve`, {
    headers: as("operator"),
    body: { not_done: true, by: "operator" },
  });
  expect(resolved.status).toBe(200);
  expect((await request("PATCH", record, { headers: as("operator"), body: { ttl: 60 } })).status).toBe(200);
  expect((await request("PUT", "/v1/documents/note/a", { headers: worker, body: { set: {} } })).status).toBe(201);
});

test("a token that does not say what it may administer decides as far as it reads and writes, as before", async () => {
  const { request, as, store } = await startWith({ worker: both, reader: { read: ["tool-call"], write: [] } });
  const record = { headers: as("worker"), body: { set: {} } };
  expect((await request("PUT", "/v1/documents/tool-call/k", record)).status).toBe(201);
  expect(problemOf(await request("DELETE", pathOf("k"), { headers: as("reader") }))).toEqual(forbidden);
  expect(await store.get("tool-call", "k")).toEqual({});
});
