import { permitOf } from "../../server/access/permit.js";
import { newToken, type TokenEntry, Tokens } from "../../server/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import type { Counts } from "./counts.js";
import type { Trial } from "./trial.js";

const shapes = ["note", "job", "*"] as const;
const steps = 400;

/** Something that goes on under a token, as the server sees it and as it should be. */
interface Followed {
  readonly name: string;
  readonly shape: string;
  /** Whether the server has ended it. */
  ended: boolean;
  /** Whether it was allowed at every moment since it began. */
  allowed: boolean;
  /** Its code, once it has ended. */
  code: string | undefined;
}

/**
 * Replaces tokens at random, with other scopes and other ends, and moves the clock, while things go on under them: at each
 * step exactly those are let in and go on that the newest tokens allow.
 *
 * @param permit how what goes on is followed; weakened in the test of this machinery
 */
export function tokenRotation(permit: typeof permitOf = permitOf): Trial {
  return { name: "tokens change while requests go on", run: (random) => run(random, permit) };
}

async function run(random: SeededRandom, permit: typeof permitOf): Promise<Counts> {
  const clock = new ManualClock();
  const made = Array.from({ length: 5 }, (_, n) => newToken(`t-${n}`, { read: [], write: [] }));
  let current: readonly TokenEntry[] = made.map(({ entry }) => entry);
  const tokens = new Tokens(current);
  const followed: Followed[] = [];
  const counts = { replaced: 0, begun: 0, refused: 0, ended: 0, admitted: 0, unknown: 0 };

  const entryOf = (name: string) => current.find((entry) => entry.name === name);
  const isValid = (name: string): boolean => {
    const entry = entryOf(name);
    return entry !== undefined && (entry.expires_at === undefined || clock.wallNow() < Date.parse(entry.expires_at));
  };
  const mayRead = (name: string, shape: string): boolean => {
    const read = entryOf(name)?.read ?? [];
    return isValid(name) && (read.includes("*") || read.includes(shape));
  };
  const someEntry = (entry: TokenEntry): TokenEntry => {
    const { expires_at, ...lasting } = entry;
    const read = [shapes[random.below(3)] ?? "note"];
    if (random.below(3) > 0) return { ...lasting, read };
    return { ...lasting, read, expires_at: new Date(clock.wallNow() + random.below(5) * 1000).toISOString() };
  };

  for (let step = 0; step < steps; step++) {
    const choice = random.below(4);
    if (choice === 0) {
      current = made.filter(() => random.below(4) > 0).map(({ entry }) => someEntry(entry));
      tokens.replace(current);
      counts.replaced += 1;
    } else if (choice === 1) clock.advance(random.below(3000));
    else {
      const { token, entry } = made[random.below(made.length)] ?? { token: "", entry: { name: "" } };
      const shape = shapes[random.below(2)] ?? "note";
      let isIn = true;
      try {
        const access = tokens.authenticate(`Bearer ${token}`, clock.wallNow());
        const one: Followed = { name: entry.name, shape, ended: false, allowed: true, code: undefined };
        permit(access, clock, (now) => now.requireRead(shape))((fault) => {
          one.ended = true;
          one.code = fault.code;
        });
        followed.push(one);
        counts.begun += 1;
      } catch {
        isIn = false;
      }
      counts[isIn ? "admitted" : "unknown"] += 1;
      if (isIn !== isValid(entry.name)) fail(`${entry.name} is ${isIn ? "" : "not "}let in`);
    }
    for (const one of followed) {
      one.allowed &&= mayRead(one.name, one.shape);
      if (one.ended === one.allowed)
        fail(`what ${one.name} follows of ${one.shape} ${one.ended ? "ended" : "goes on"}`);
    }
    function fail(what: string): never {
      throw new Error(`seed ${random.seed}, step ${step}: ${what}, against ${JSON.stringify(current)}`);
    }
  }
  counts.ended = followed.filter(({ ended }) => ended).length;
  counts.refused = followed.filter(({ code }) => code === "forbidden").length;
  return counts;
}
