import type { DocumentStore } from "../../src/documents/contract.js";
import { checkRefused, checkStored, type Written, WrongResultError } from "../checks.js";
import { type BenchChild, startChild } from "../child.js";
import { claimFields } from "../claim-documents.js";
import type { Round } from "../statistics.js";
import { loadCondition, loadFields } from "./claim-request.js";
import type { LoadPlan, LoadRound } from "./load-generator.js";
import type { LoadProcessMethods } from "./load-process.js";
import type { LoadedServer } from "./loaded-servers.js";

/** Refused creates that are tried after each round. */
const triedAfterRound = 4;

/** Starts the process of the load generator. */
export function startLoadProcess(): BenchChild<LoadProcessMethods> {
  return startChild<LoadProcessMethods>(new URL("./load-process.ts", import.meta.url));
}

/** The load of one server over a number of connections. */
export class ServerLoad {
  readonly server: LoadedServer;
  readonly #child: BenchChild<LoadProcessMethods>;
  readonly #shape: string;
  readonly #plan: LoadPlan;
  readonly #name: string;

  /** @param options.shape must hold nothing yet */
  static async open(
    child: BenchChild<LoadProcessMethods>,
    server: LoadedServer,
    options: { readonly shape: string; readonly connections: number; readonly plan: LoadPlan },
  ): Promise<ServerLoad> {
    const { shape, connections, plan } = options;
    const name = `${server.name} ${shape}`;
    await child.call("open", { name, target: { url: server.url, shape, connections } });
    return new ServerLoad(child, server, { name, shape, plan });
  }

  private constructor(
    child: BenchChild<LoadProcessMethods>,
    server: LoadedServer,
    options: { readonly name: string; readonly shape: string; readonly plan: LoadPlan },
  ) {
    this.#child = child;
    this.server = server;
    this.#name = options.name;
    this.#shape = options.shape;
    this.#plan = options.plan;
  }

  /** One round, and its checks. */
  async round(): Promise<Round> {
    const { store } = this.server;
    const before = store === undefined ? 0 : await writeMarker(store);
    const round = await this.#child.call("run", { name: this.#name, plan: this.#plan });
    if ("wrong" in round) throw new WrongResultError(`${this.server.name}: ${round.wrong}`);
    if (store !== undefined) await this.#check(store, round, before);
    return { latenciesMs: [...round.latenciesMs], elapsedMs: round.elapsedMs };
  }

  async close(): Promise<void> {
    await this.#child.call("close", { name: this.#name });
  }

  async #check(store: DocumentStore, { latenciesMs, created }: LoadRound, before: number): Promise<void> {
    // Each create takes one revision, and the marker itself takes one.
    const grown = (await writeMarker(store)) - before - 1;
    if (grown !== latenciesMs.length) {
      throw new WrongResultError(
        `${this.server.name} has acknowledged ${latenciesMs.length} creates, but its store has grown by ${grown} commits`,
      );
    }
    const written = created.map(({ id, body }) => ({ id, fields: loadFields, revision: revisionIn(body) }));
    await checkStored(store, this.#shape, written);
    for (const winner of written.slice(0, triedAfterRound)) await this.#checkLoser(store, winner);
  }

  async #checkLoser(store: DocumentStore, winner: Written): Promise<void> {
    const write = { shape: this.#shape, id: winner.id, set: claimFields(2), if_match: loadCondition };
    await checkRefused(store, write, winner);
  }
}

/** Writes to a document of its own, whose revision tells how many commits there were before. */
async function writeMarker(store: DocumentStore): Promise<number> {
  return (await store.put({ shape: "marker", id: "marker", set: {} })).revision;
}

function revisionIn(body: string): number {
  const { revision, created } = JSON.parse(body) as { readonly revision?: unknown; readonly created?: unknown };
  if (typeof revision === "number" && created === true) return revision;
  throw new WrongResultError(`an answer says nothing of what was created: ${body}`);
}
