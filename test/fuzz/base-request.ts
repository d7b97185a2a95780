import type { DocumentKey } from "../../src/documents/contract.js";
import type { Operation, Schema } from "./api.js";
import type { FuzzServer } from "./fuzz-server.js";
import { jsonRequest, type WireRequest } from "./wire.js";

/** A request that a route takes, in its parts, so that one of them can be spoiled. */
export interface BaseRequest {
  readonly operation: Operation;
  readonly path: { readonly [name: string]: string };
  readonly query: { readonly [name: string]: string };
  readonly headers: { readonly [name: string]: string };
  readonly body: unknown;
  /** The documents that it is about, and the record of its call. */
  readonly about: readonly DocumentKey[];
}

/** What there is that a request can be about. */
interface Scene {
  readonly serial: number;
  readonly ids: readonly string[];
  readonly revision: number;
  readonly key: string;
  readonly claimId: string;
  readonly fingerprint: string;
}

/** Members that exclude each other; a base request has the first of them that its route knows. */
const exclusive: readonly (readonly string[])[] = [
  ["id", "prefix"],
  ["since", "Last-Event-ID"],
  ["result", "error", "not_done"],
  ["if_match", "If-Match", "If-None-Match"],
];

/** Stands in every text of a body, and must stand in no error. */
export const secret = "s3cr3t";

let serials = 0;

/**
 * Makes what a request of this kind needs (documents, a call that is held, parked or in doubt) and a request that has every
 * member that its route knows.
 *
 * @param wanted a member that the request must have: what excludes it is left out
 */
export async function baseRequest(server: FuzzServer, operation: Operation, wanted = ""): Promise<BaseRequest> {
  serials += 1;
  const scene = await setUp(server, operation, serials);
  const left = leftOut(operation, wanted);
  const of = (place: string): { [name: string]: string } =>
    Object.fromEntries(
      operation.parameters
        .filter((parameter) => parameter.in === place && !left.has(parameter.name))
        .map(({ name, schema }) => [name, String(good(name, schema, scene, left, operation))]),
    );
  return {
    operation,
    path: of("path"),
    query: of("query"),
    headers: of("header"),
    body: operation.body === undefined ? undefined : good("", operation.body.schema, scene, left, operation),
    about: [...scene.ids.map((id) => ({ shape: "note", id })), { shape: "tool-call", id: `send:${scene.key}` }],
  };
}

/** Puts the parts together. */
export function wireRequest(base: BaseRequest, bytes?: Buffer): WireRequest {
  const { operation, path, query, headers } = base;
  const target = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const address = pairs.length === 0 ? target : `${target}?${pairs.join("&")}`;
  const body = bytes ?? (base.body === undefined ? undefined : Buffer.from(JSON.stringify(base.body)));
  return {
    method: operation.method,
    target: address,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body,
  };
}

function leftOut(operation: Operation, wanted: string): ReadonlySet<string> {
  const known = new Set([
    ...operation.parameters.filter(({ in: place }) => place !== "path").map(({ name }) => name),
    ...Object.keys((operation.body?.schema["properties"] ?? {}) as object),
  ]);
  const left = new Set<string>();
  for (const group of exclusive) {
    const there = group.filter((name) => known.has(name));
    const kept = there.includes(wanted) ? wanted : there[0];
    for (const name of there) if (name !== kept) left.add(name);
  }
  return left;
}

async function setUp({ store, wire }: FuzzServer, { id: operation, path }: Operation, serial: number): Promise<Scene> {
  const ids = [0, 1, 2, 3].map((index) => `n-${serial}-${index}`);
  const { revision } = await store.batch(ids.map((id) => ({ op: "put", shape: "note", id, set: { a: secret } })));
  const scene = { serial, ids, revision, key: `k-${serial}`, claimId: `c-${serial}`, fingerprint: "0" };
  if (!path.includes("{key}")) return scene;
  const call = {
    tool: "send",
    args: { order: serial },
    key: scene.key,
    policy: "review",
    claim_id: scene.claimId,
    pending_ttl: 3000,
    wait: 0,
  };
  const key = `send:${scene.key}`;
  const say = async (action: string, members: object): Promise<void> => {
    const target = `/v1/tool-calls/${encodeURIComponent(key)}/${action}`;
    await wire.send(jsonRequest("POST", target, { claim_id: scene.claimId, ...members }));
  };
  const claimed = await wire.send(jsonRequest("POST", "/v1/tool-calls/claim", call));
  if (claimed.status !== 200) throw new Error(`there is no call to try: ${claimed.text}`);
  if (operation === "approveCall") await say("park", { reason: "look" });
  if (operation === "resolveCall") await say("unknown", { error: "lost" });
  if (operation === "getOutcome" || operation === "forgetCall") await say("complete", { result: secret });
  const record = await store.get("tool-call", key);
  return { ...scene, key, fingerprint: String(record?.["fingerprint"]) };
}

/** A good value for a member: by its name where that says more than its schema. */
function good(
  name: string,
  schema: Schema,
  scene: Scene,
  left: ReadonlySet<string>,
  operation: Operation,
  index = 0,
): unknown {
  switch (name) {
    case "shape":
      return "note";
    case "id":
      return scene.ids[index];
    case "set":
    case "fields":
      return { a: secret };
    case "merge":
      return { b: secret };
    case "revision":
      return scene.revision;
    case "key":
      return scene.key;
    case "claim_id":
      return scene.claimId;
    case "fingerprint":
      return scene.fingerprint;
    case "wait":
    case "since":
      return 0;
    case "prefix":
    case "after":
      return operation.path.includes("tool-calls") ? "" : "n-";
    case "until":
      return "o";
    case "return":
      return "document";
    case "If-Match":
      return `"${scene.revision}"`;
    case "If-None-Match":
      return operation.method === "GET" ? '"0"' : "*";
    case "Prefer":
      return "wait=0";
    case "Idempotency-Key":
      return `i-${scene.serial}`;
    case "Last-Event-ID":
      return "0";
    default:
      return bySchema(schema, scene, left, operation, index);
  }
}

function bySchema(
  schema: Schema,
  scene: Scene,
  left: ReadonlySet<string>,
  operation: Operation,
  index: number,
): unknown {
  const { const: only, enum: choices, type, properties, items, oneOf } = schema as SchemaMembers;
  if (only !== undefined) return only;
  if (choices !== undefined) return choices[0];
  if (items !== undefined) {
    const kinds = items.oneOf ?? [items];
    return kinds.map((kind, position) => good("", kind, scene, left, operation, position));
  }
  if (oneOf?.[0] !== undefined) return good("", oneOf[0], scene, left, operation, index);
  switch (Array.isArray(type) ? type[0] : type) {
    case "object":
      return Object.fromEntries(
        Object.entries(properties ?? {})
          .filter(([name]) => index > 0 || !left.has(name))
          .map(([name, member]) => [name, good(name, member, scene, left, operation, index)]),
      );
    case "boolean":
      return true;
    case "number":
    case "integer":
      return 60;
    case "string":
      return secret;
    default:
      return { any: secret };
  }
}

interface SchemaMembers {
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema & { readonly oneOf?: readonly Schema[] };
  readonly oneOf?: readonly Schema[];
}
