import { isDeepStrictEqual } from "node:util";
import { newToken } from "../../server/index.js";
import type { Document } from "../../src/documents/contract.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import { count, type Tally } from "../torture/counts.js";
import type { Trial } from "../torture/trial.js";
import type { WireAnswer } from "./answer-judge.js";
import { membersOf, type Operation, withValueAt } from "./api.js";
import { type BaseRequest, baseRequest, wireRequest } from "./base-request.js";
import { type FuzzServer, openFuzzServer, type Weakness } from "./fuzz-server.js";
import { rawBytes } from "./raw-requests.js";
import type { WireRequest } from "./wire.js";
import { wrongHeaders, wrongTexts, wrongValues } from "./wrong-values.js";

/*
 * Requests made of the API's own description, most of them spoiled, over real connections. Whatever is sent: no fault of the
 * server's, an answer that is described, nothing changed by what was refused, and what was taken is there as it was sent.
 */

/** Servers over one store: one for everybody, and one that asks for tokens. */
interface World {
  readonly open: FuzzServer;
  readonly guarded: FuzzServer;
  /** May read and write the shape `note`, and nothing else. */
  readonly noteToken: string;
}

/** @param requests how many a piece of work sends */
export function httpInput(requests: number, weaken?: Weakness): Trial {
  return {
    name: "http input",
    run: async (random) => {
      const world = await openWorld(weaken);
      const counts: Tally = {};
      try {
        for (let index = 0; index < requests; index++) {
          const fault = await tryOne(world, random, index, counts);
          const logged = [...world.open.faultsLogged(), ...world.guarded.faultsLogged()];
          if (logged[0] !== undefined)
            throw new Error(`seed ${random.seed}, request ${index}: the log says ${logged[0]}`);
          if (fault !== undefined) throw new Error(`seed ${random.seed}, request ${index}: ${fault}`);
        }
      } finally {
        await world.guarded.close();
        await world.open.close();
      }
      return counts;
    },
  };
}

async function openWorld(weaken: Weakness | undefined): Promise<World> {
  const open = await openFuzzServer({ weaken });
  const note = newToken("note", { read: ["note"], write: ["note"], admin: [] });
  const guarded = await openFuzzServer({ store: open, tokens: [note.entry], weaken });
  return { open, guarded, noteToken: note.token };
}

/** @returns what is wrong, with the request */
async function tryOne(world: World, random: SeededRandom, index: number, counts: Tally): Promise<string | undefined> {
  const { open, guarded } = world;
  const operation = pick(random, open.operations);
  const member = pick(random, ["", ...operation.parameters.map(({ name }) => name)]);
  const base = spoiledParts(await baseRequest(open, operation, member), random, index);
  const good = wireRequest(base);
  const kind = index % 4;
  if (kind === 3) {
    count(counts, "raw");
    const { bytes, what, ends } = rawBytes(good, random);
    count(counts, what);
    return judgeRaw(await open.wire.raw(bytes, ends), bytes);
  }
  const request = kind === 2 ? spoiledBytes(good, random) : good;
  count(counts, kind === 2 ? "bytes" : "parts");
  // Every third of them asks the server that wants a token: with one, with a wrong one, with none.
  const who = pick(random, ["everybody", "everybody", "everybody", "everybody", "note", "wrong", "none"]);
  count(counts, who);
  if (who === "everybody") return judge(open, operation, request, base, undefined, counts);
  const authorization = who === "note" ? { authorization: `Bearer ${world.noteToken}` } : {};
  const wrong = who === "wrong" ? { authorization: "Bearer okv_wrong" } : {};
  return judge(
    guarded,
    operation,
    { ...request, headers: { ...request.headers, ...authorization, ...wrong } },
    base,
    who,
    counts,
  );
}

/** Spoils none, one or two members, or puts other good values there. */
function spoiledParts(base: BaseRequest, random: SeededRandom, index: number): BaseRequest {
  if (index % 4 === 0) return base;
  let { body } = base;
  const { operation, path, query, headers, about } = base;
  const { body: described } = operation;
  for (let times = random.below(2) + 1; times > 0 && described !== undefined; times--) {
    const places = membersOf(described.schema, body).map(({ place }) => place);
    const place = places.length === 0 ? [] : pick(random, places);
    const { json } = pick(
      random,
      wrongValues.filter((value) => value.json.length < 10_000),
    );
    body = withValueAt(body, random.below(8) === 0 ? [...place.slice(0, -1), "surprise"] : place, JSON.parse(json));
  }
  return {
    operation,
    about,
    body,
    path: random.below(4) === 0 ? spoiledTexts(path, random, wrongTexts.map(decoded)) : path,
    query: random.below(3) === 0 ? spoiledTexts(query, random, wrongTexts.map(decoded)) : query,
    headers: random.below(3) === 0 ? spoiledTexts(headers, random, wrongHeaders) : headers,
  };
}

function spoiledTexts<T extends { readonly [name: string]: string }>(
  texts: T,
  random: SeededRandom,
  wrong: readonly string[],
): { readonly [name: string]: string } {
  const names = Object.keys(texts);
  return names.length === 0 ? texts : { ...texts, [pick(random, names)]: pick(random, wrong) };
}

/** Flips, cuts, repeats and drops bytes of the body. */
function spoiledBytes(request: WireRequest, random: SeededRandom): WireRequest {
  const { body } = request;
  if (body === undefined || body.length === 0) return request;
  const at = random.below(body.length);
  const other = Buffer.from(body);
  switch (random.below(5)) {
    case 0:
      other[at] = (other[at] ?? 0) ^ (1 << random.below(8));
      return { ...request, body: other };
    case 1:
      return { ...request, body: body.subarray(0, at) };
    case 2:
      return { ...request, body: Buffer.concat([body.subarray(0, at), body]) };
    case 3:
      return { ...request, body: Buffer.concat([body.subarray(0, at), body.subarray(at + 1 + random.below(4))]) };
    default:
      other[at] = random.below(256);
      return { ...request, body: other };
  }
}

async function judge(
  server: FuzzServer,
  operation: Operation,
  request: WireRequest,
  base: BaseRequest,
  who: string | undefined,
  counts: Tally,
): Promise<string | undefined> {
  const before = server.store.revision;
  const moves = server.moves();
  const shown = `${request.method} ${request.target} ${JSON.stringify(request.headers)} ${String(request.body)}`;
  let answer: WireAnswer;
  try {
    answer = await server.wire.send(request);
  } catch (error) {
    // The client itself refuses to send what is no address.
    if (error instanceof Error && /unescaped characters/.test(error.message)) return undefined;
    return `${String(error)}\n${shown.slice(0, 4000)}`;
  }
  const faults = server.judge.faults(operation, answer);
  const changed = server.store.revision !== before && server.moves() === moves;
  if (answer.status >= 400) {
    count(counts, "refused");
    if (changed) faults.push("it was refused, and something was stored");
  } else {
    count(counts, "taken");
    if (operation.method === "GET" && changed) faults.push("it was a read, and something was stored");
    if (request.body !== undefined && server.moves() === moves)
      faults.push(...(await writeFaults(server, base, request, counts)));
    if (who !== undefined && !isAllowed(who, operation, request)) faults.push(`the token ${who} must not do that`);
  }
  if (faults.length === 0) return undefined;
  return `${faults.join("; ")}\n${shown.slice(0, 4000)}\n${answer.status} ${answer.text.slice(0, 1000)}`;
}

/** Whether what a put said is there, exactly. */
async function writeFaults(
  server: FuzzServer,
  { operation, path }: BaseRequest,
  { body }: WireRequest,
  counts: Tally,
): Promise<string[]> {
  if (operation.id !== "putDocument") return [];
  const { set } = JSON.parse(String(body)) as { readonly set: object };
  const document: Document | undefined = await server.store.getDocument(path["shape"] ?? "", path["id"] ?? "");
  count(counts, "read back");
  const sent: unknown = JSON.parse(JSON.stringify(set));
  return isDeepStrictEqual(document?.fields, sent) ? [] : ["what was sent is not what is there"];
}

/** A limited token reaches its own shape alone; without a valid one there is nothing but health. */
function isAllowed(who: string, { id, path }: Operation, { target, body }: WireRequest): boolean {
  if (id === "getHealth" || id === "getReadiness") return true;
  if (who !== "note") return false;
  if (id === "getDescription") return true;
  if (path.startsWith("/v1/documents/")) return /^\/v1\/documents\/note(?:[/?]|$)/.test(target);
  if (id === "watchChanges") return /[?&]shape=note(?:&|$)/.test(target);
  return (id === "batch" || id === "getMany") && !/"shape":"(?!note")/.test(String(body));
}

/** Each answer on a connection is one of HTTP and no fault of the server's; there may be none to what is no whole request. */
function judgeRaw(received: string, bytes: Buffer): string | undefined {
  const shown = JSON.stringify(bytes.toString("latin1").slice(0, 2000));
  if (received !== "" && !received.startsWith("HTTP/1.1 "))
    return `no answer of HTTP: ${received.slice(0, 200)}\n${shown}`;
  const statuses = [...received.matchAll(/(?:^|[^ ])HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  const bad = statuses.find((status) => status >= 500);
  return bad === undefined ? undefined : `an answer ${bad} to ${shown}: ${received.slice(0, 500)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function pick<T>(random: SeededRandom, choices: readonly T[]): T {
  const choice = choices[random.below(choices.length)];
  if (choice === undefined) throw new Error("there is nothing to choose from");
  return choice;
}
