import { isDeepStrictEqual } from "node:util";
import type { Fields } from "../../src/documents/contract.js";
import { WrongResultError } from "../checks.js";
import { claimFields, readAgain, ScatteredIds } from "../claim-documents.js";
import type { MeasuredCase } from "../measure.js";
import type { OpenedPeer, Peer } from "./peer.js";

/** Writes that must lose after each round. */
const losersAfterRound = 4;

/** How many race for one new document after each round. */
const racers = 4;

/**
 * Creates documents in an empty store. What was acknowledged is read again after each round; creating it once more must
 * lose, and of several that create one document at the same time one must win.
 */
export function peerCase({ name, createsIfAbsent }: Peer, store: OpenedPeer): MeasuredCase {
  const ids = new ScatteredIds();
  const latest: Written[] = [];
  let attempt = 0;
  return {
    name,
    async once() {
      const id = ids.next();
      const fields = claimFields(++attempt);
      const begun = performance.now();
      const won = await store.create(id, fields);
      const tookMs = performance.now() - begun;
      if (!won) throw new WrongResultError(`${name}: ${id} was there already`);
      latest[attempt % readAgain] = { id, fields };
      return tookMs;
    },
    async check() {
      const written = Object.values(latest);
      if (written.length === 0) throw new WrongResultError(`${name}: nothing was written`);
      await Promise.all(written.map((document) => checkStored(name, store, document)));
      if (!createsIfAbsent) return;
      for (const winner of written.slice(0, losersAfterRound)) await checkLoses(name, store, winner);
      await checkRace(name, store, ids.next());
    },
  };
}

interface Written {
  readonly id: string;
  readonly fields: Fields;
}

async function checkStored(name: string, store: OpenedPeer, { id, fields }: Written): Promise<void> {
  const stored = await store.read(id);
  if (isDeepStrictEqual(stored, fields)) return;
  throw new WrongResultError(`${name}: ${id} must hold ${JSON.stringify(fields)}, but is ${JSON.stringify(stored)}`);
}

async function checkLoses(name: string, store: OpenedPeer, winner: Written): Promise<void> {
  if (await store.create(winner.id, claimFields(-1))) {
    throw new WrongResultError(`${name}: ${winner.id} was created a second time`);
  }
  await checkStored(name, store, winner);
}

async function checkRace(name: string, store: OpenedPeer, id: string): Promise<void> {
  const claims = Array.from({ length: racers }, (_, index) => claimFields(-1 - index));
  const won = await Promise.all(claims.map((fields) => store.create(id, fields)));
  const winners = claims.filter((_, index) => won[index] === true);
  const [fields] = winners;
  if (fields === undefined || winners.length > 1) {
    throw new WrongResultError(`${name}: of ${racers} that create ${id} at the same time, ${winners.length} win`);
  }
  await checkStored(name, store, { id, fields });
}
