import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Keyv } from "keyv";
import { openStore } from "oncekv";
import { keyvStore } from "oncekv/adapters/keyv";

// Keyv over the store, so that what is cached outlives the process. Run it: npx tsx examples/adapters/keyv.ts

const dataDir = await mkdtemp(join(tmpdir(), "oncekv-example-"));
let asked = 0;
let looked = 0;

/** One life of a process that looks up exchange rates, which is slow, and keeps them for an hour. */
async function life(currencies: string[]): Promise<void> {
  const store = await openStore({ dataDir });
  const rates = new Keyv<number>({ store: keyvStore(store), namespace: "rates", ttl: 3_600_000, throwOnErrors: true });
  for (const currency of currencies) {
    asked += 1;
    if ((await rates.get(currency)) !== undefined) continue;
    looked += 1;
    await rates.set(currency, 1 / currency.length);
  }
  await store.close();
}

await life(["USD", "GBP", "USD"]);
await life(["GBP", "USD"]); // another process
await rm(dataDir, { recursive: true });

console.log(`asked for ${asked} rates, looked up ${looked}`);
if (asked !== 5 || looked !== 2) process.exitCode = 1;
