import { isDeepStrictEqual } from "node:util";
import { memberPath } from "../../src/documents/member-path.js";
import type { Problem, WireAnswer } from "./answer-judge.js";
import { closedObjects, membersOf, type Operation, withValueAt } from "./api.js";
import { type BaseRequest, baseRequest, secret, wireRequest } from "./base-request.js";
import { type FuzzServer, openFuzzServer, type Weakness } from "./fuzz-server.js";
import { PartOfTable } from "./part-of-table.js";
import type { WireRequest } from "./wire.js";
import { wrongHeaders, wrongTexts, wrongValues } from "./wrong-values.js";

/** One member spoiled in one way. */
interface Trial {
  readonly what: string;
  /** What it was before it was spoiled. */
  readonly base: BaseRequest;
  readonly request: WireRequest;
  /** Where the fault is; an error must name that, or a place in it. */
  readonly path: string;
  /** Whether it must be refused. */
  readonly refused: boolean;
  /** Whether its form is right: the answer may be about what is there, and the reason may be the size of the whole. */
  readonly isFormed?: boolean;
  /** Whether the refusal may name no place: it is told before there are members. */
  readonly unnamed?: boolean;
}

/** What a run has met. */
export interface Tried {
  readonly faults: string[];
  refused: number;
  taken: number;
  /** Routes that write, and after a refusal of which the documents that it was about were read back. */
  readonly readBack: Set<string>;
  readonly part: PartOfTable;
}

const placeholder = "the place of a value";

/**
 * Members that are kept as they can be, since the effect that they tell of has happened: half a character becomes U+FFFD in an
 * error, and a result that cannot be kept is left out.
 */
const kept = new Set(["completeCall result", "failCall error", "releaseCall error", "leaveCallInDoubt error"]);
const keptByDecree = new Set(["resolveCall result", "resolveCall error"]);

/** Names of members and of parameters that no route knows. */
const unknownMembers = ["surprise", "__proto__", "constructor", "toString", "", "Set", "x".repeat(100_000)];
const unknownParameters = ["surprise", "__proto__", "constructor", "hasOwnProperty", "x".repeat(3000)];

function pathOf(place: readonly (string | number)[]): string {
  return place.reduce<string>((path, name) => memberPath(path, name), "");
}

/** Tries one way to spoil a request, and judges the answer. */
async function tryOne(server: FuzzServer, operation: Operation, trial: Trial, tried: Tried): Promise<boolean> {
  const before = server.store.revision;
  const moves = server.moves();
  const writes = operation.method !== "GET";
  const there = writes ? await server.served.getMany(trial.base.about) : [];
  const answer = await server.wire.send(trial.request);
  const faults = server.judge.faults(operation, answer);
  const changed = server.store.revision !== before;
  if (answer.status >= 400 && answer.status < 500) {
    tried.refused += 1;
    if (changed && server.moves() === moves) faults.push("it was refused, and something was stored");
    faults.push(...refusalFaults(answer, trial));
    // Time that passes meanwhile may end what is there.
    if (writes && server.moves() === moves) {
      tried.readBack.add(operation.id);
      const left = await server.served.getMany(trial.base.about);
      if (!isDeepStrictEqual(left, there)) faults.push("it was refused, and a document is another than before");
    }
  } else {
    tried.taken += 1;
    if (trial.refused) faults.push(`it was taken: ${answer.status} ${answer.text.slice(0, 200)}`);
  }
  for (const fault of faults) tried.faults.push(`${operation.id} with ${trial.what}: ${fault}`);
  return changed || server.moves() !== moves;
}

function refusalFaults({ status, text }: WireAnswer, { path, refused, isFormed, unnamed }: Trial): string[] {
  const problem = JSON.parse(text) as Problem & { readonly failures?: unknown; readonly call?: unknown };
  const isNamed = problem.path === path || problem.path?.startsWith(path) === true;
  // A value of the right form that means nothing that is there: what is there instead is told, and not a place.
  const isAboutStored = [404, 409, 410, 412, 422, 424].includes(status);
  if (isAboutStored && (!refused || isFormed === true)) return [];
  if (isFormed === true && status === 413 && problem.path === undefined) return [];
  if (!isNamed && !(unnamed === true && problem.path === undefined)) {
    return [`${status} names ${problem.path ?? "no place"} and not ${path}: ${problem.detail.slice(0, 200)}`];
  }
  const shown = JSON.stringify({ ...problem, failures: undefined, call: undefined });
  return shown.includes(secret) ? ["the error shows what the body holds"] : [];
}

async function tryBodies(server: FuzzServer, operation: Operation, tried: Tried): Promise<void> {
  const { body: described } = operation;
  if (described === undefined) return;
  const full = await baseRequest(server, operation);
  const own = Object.keys((described.schema["properties"] ?? {}) as object);
  const places = new Map(membersOf(described.schema, full.body).map((member) => [pathOf(member.place), member]));
  for (const name of own) {
    const base = await baseRequest(server, operation, name);
    for (const member of membersOf(described.schema, base.body)) places.set(pathOf(member.place), member);
  }
  for (const [path, { place, schema }] of places) {
    const wanted = String(place[0]);
    let base = await baseRequest(server, operation, wanted);
    for (const { name, json, never } of tried.part.at("value", wrongValues)) {
      const value: unknown = JSON.parse(json);
      const body = JSON.stringify(withValueAt(base.body, place, placeholder)).replace(`"${placeholder}"`, () => json);
      const what = `${operation.id} ${wanted}`;
      const isKept = kept.has(what) || keptByDecree.has(what);
      const isFormed = server.judge.takes(schema, value);
      const refused = !isFormed || (never === true && !isKept);
      const request = wireRequest(base, Buffer.from(body));
      const trial = { what: `${path} = ${name}`, base, request, path, refused, isFormed };
      if (await tryOne(server, operation, trial, tried)) base = await baseRequest(server, operation, wanted);
    }
  }
  for (const place of closedObjects(described.schema, full.body)) {
    for (const name of tried.part.at("member", unknownMembers)) {
      const body = withValueAt(full.body, [...place, name], secret);
      const path = pathOf([...place, name]);
      const request = wireRequest({ ...full, body });
      const trial = { what: `the member ${path}`, base: full, request, path, refused: true };
      await tryOne(server, operation, trial, tried);
    }
  }
}

async function tryQueries(server: FuzzServer, operation: Operation, tried: Tried): Promise<void> {
  for (const parameter of operation.parameters) {
    if (parameter.in !== "query") continue;
    const { name, schema } = parameter;
    let base = await baseRequest(server, operation, name);
    for (const text of tried.part.at("query", wrongTexts)) {
      const request = withQuery(base, name, `${name}=${text}`);
      const refused = !server.judge.takes(schema, readAs(schema, text));
      const trial = { what: `?${name}=${text.slice(0, 30)}`, base, request, path: name, refused };
      if (await tryOne(server, operation, trial, tried)) base = await baseRequest(server, operation, name);
    }
    const good = base.query[name] ?? "";
    const twice = withQuery(base, name, `${name}=${good}&${name}=${good}`);
    await tryOne(server, operation, { what: `${name} twice`, base, request: twice, path: name, refused: true }, tried);
    for (const spelled of tried.part.at("spelling", [`${name}[]`, `${name}[a]`, ` ${name}`, name.toUpperCase()])) {
      const request = withQuery(base, name, `${encodeURIComponent(spelled)}=${good}`);
      await tryOne(server, operation, { what: `?${spelled}`, base, request, path: spelled, refused: true }, tried);
    }
  }
  for (const name of tried.part.at("unknown query", unknownParameters)) {
    const base = await baseRequest(server, operation);
    const request = withQuery(base, name, `${name}=1`);
    const trial = { what: `?${name.slice(0, 30)}=1`, base, request, path: name.slice(0, 100), refused: true };
    await tryOne(server, operation, trial, tried);
  }
}

function withQuery(base: BaseRequest, name: string, text: string): WireRequest {
  const { [name]: _, ...query } = base.query;
  const request = wireRequest({ ...base, query });
  return { ...request, target: `${request.target}${request.target.includes("?") ? "&" : "?"}${text}` };
}

/** What a text in an address says where the schema has that type; a value that no schema takes when it says nothing. */
function readAs(schema: { readonly [keyword: string]: unknown }, text: string): unknown {
  const nothing = Symbol("nothing");
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    return nothing;
  }
  switch (schema["type"]) {
    case "boolean":
      return decoded === "true" ? true : decoded === "false" ? false : nothing;
    case "integer":
    case "number":
      return /^-?\d+(\.\d+)?$/.test(decoded) && Math.abs(Number(decoded)) < 2 ** 53 ? Number(decoded) : nothing;
    default:
      return decoded;
  }
}

async function tryAddresses(server: FuzzServer, operation: Operation, tried: Tried): Promise<void> {
  for (const { name, schema, in: place } of operation.parameters) {
    if (place !== "path") continue;
    let base = await baseRequest(server, operation);
    for (const text of tried.part.at("address", wrongTexts)) {
      const marked = wireRequest({ ...base, path: { ...base.path, [name]: placeholder } });
      const request = { ...marked, target: marked.target.replace(encodeURIComponent(placeholder), () => text) };
      const refused = !server.judge.takes(schema, readAs(schema, text));
      // A part that is no text at all, or is not there, leads to no route.
      const trial = { what: `{${name}} ${text.slice(0, 30)}`, base, request, path: name, refused, unnamed: refused };
      if (await tryOne(server, operation, trial, tried)) base = await baseRequest(server, operation);
    }
  }
}

async function tryHeaders(server: FuzzServer, operation: Operation, tried: Tried): Promise<void> {
  for (const { name, in: place } of operation.parameters) {
    if (place !== "header") continue;
    let base = await baseRequest(server, operation, name);
    const twice = [String(base.headers[name]), String(base.headers[name])];
    for (const text of tried.part.at("header", [...wrongHeaders, twice])) {
      const request = wireRequest(base);
      const sent = { ...request, headers: { ...request.headers, [name]: text } };
      // A condition that is no condition must not be passed over; other preferences are, as their standard asks.
      const isCondition = name.startsWith("If-") && !isCondition200(operation, text);
      const weak = operation.method !== "GET" && text === 'W/"x"';
      const refused = isCondition && !weak;
      const trial = { what: `${name}: ${String(text).slice(0, 30)}`, base, request: sent, path: name, refused };
      if (await tryOne(server, operation, trial, tried)) {
        base = await baseRequest(server, operation, name);
      }
    }
  }
}

/** Whether the text can be a condition that holds. */
function isCondition200(operation: Operation, text: string | string[]): boolean {
  if (typeof text !== "string") return false;
  return operation.method === "GET"
    ? /^(?:W\/)?"\d+"$/.test(text) && text !== '"00"'
    : /^(?:\*|"[1-9]\d*")$/.test(text);
}

/**
 * Spoils every member, parameter and header of every route, one at a time, in all the ways of the tables.
 *
 * @param share 1 for all ways at every place; n for every n-th, others at the next place
 * @param only the route to try, when one will do
 */
export async function wrongValuesEverywhere(share: number, weaken?: Weakness, only?: string): Promise<Tried> {
  const server = await openFuzzServer({ weaken });
  const part = new PartOfTable(share);
  const tried: Tried = { faults: [], refused: 0, taken: 0, readBack: new Set(), part };
  try {
    for (const operation of server.operations) {
      if (only !== undefined && operation.id !== only) continue;
      await tryBodies(server, operation, tried);
      await tryQueries(server, operation, tried);
      await tryAddresses(server, operation, tried);
      await tryHeaders(server, operation, tried);
    }
    tried.faults.push(...server.faultsLogged());
    for (const operation of server.operations) {
      if (only !== undefined || operation.method === "GET" || tried.readBack.has(operation.id)) continue;
      tried.faults.push(`${operation.id}: nothing was read back after a refusal`);
    }
    if (Object.hasOwn(Object.prototype, "admin")) tried.faults.push("a prototype was changed");
  } finally {
    await server.close();
  }
  return tried;
}
