import type { Arrival } from "./arrival.js";
import { modeOf, type Settled } from "./guarded-call.js";

/**
 * Judges what reached the service, and what the callers were told.
 *
 * @param settled every caller's answers, those of the last round, after the reviews, included
 * @throws Error naming the promise that was broken, with the arrivals of that call
 */
export function judgeEffects(keys: readonly string[], arrivals: readonly Arrival[], settled: readonly Settled[]): void {
  for (const key of keys) {
    const fires = arrivals.filter((arrival) => arrival.key === key);
    const claims = new Set(fires.map(({ token }) => token));
    if (claims.size < fires.length) throw broken(key, "was fired twice under one claim", fires);
    if (fires.length === 0) throw broken(key, "was never fired", fires);
    const mode = modeOf(key);
    const effects = fires.filter(({ hasEffect }) => hasEffect).length;
    if (mode === "keyed" && effects > 1)
      throw broken(key, `has had ${effects} effects although the service takes its key`, fires);
    if (mode === "review" && fires.length > 1) throw broken(key, `was fired ${fires.length} times under review`, fires);
    const answers = settled.filter((answer) => answer.key === key);
    const told = answers.flatMap((answer) => ("receipt" in answer ? [answer] : []));
    if (told.some(({ receipt }) => !fires.some((fire) => fire.receipt === receipt))) {
      throw broken(key, "has a result that no fire had", fires);
    }
    const kept = new Set(told.flatMap(({ receipt, persisted }) => (persisted ? [receipt] : [])));
    if (kept.size !== 1) throw broken(key, `has given its callers ${kept.size} results that were stored`, fires);
  }
}

function broken(key: string, what: string, fires: readonly Arrival[]): Error {
  return new Error(`the call ${key} ${what}: ${JSON.stringify(fires)}`);
}
