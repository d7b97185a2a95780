import { createClient } from "../../client/index.js";
import { callUntilSettled, type Settled, shortLivedCalls } from "./guarded-call.js";

/*
 * A worker in a process of its own: makes every call of its list, a few at a time, until each is settled.
 */

export interface WorkerMessage {
  readonly storeUrl: string;
  readonly serviceUrl: string;
  readonly keys: readonly string[];
}

const atOnce = 4;

process.on("message", async ({ storeUrl, serviceUrl, keys }: WorkerMessage) => {
  const store = createClient({ url: storeUrl, retryFor: 1, timeout: 5 });
  const calls = shortLivedCalls(store);
  const left = [...keys];
  const settled: Settled[] = [];
  const lane = async (): Promise<void> => {
    for (let key = left.shift(); key !== undefined; key = left.shift()) {
      settled.push(await callUntilSettled(calls, serviceUrl, key));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  await calls.close();
  await store.close();
  process.send?.(settled);
});
process.on("disconnect", () => process.exit(0));
