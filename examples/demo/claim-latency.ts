import { createClient } from "oncekv/client";

/** Median times in milliseconds. */
export interface ClaimLatency {
  readonly claimMs: number;
  readonly putMs: number;
}

const warmUps = 40;
const rounds = 200;

/**
 * Times a claim (a put on the condition that there is nothing yet) against a plain put of the same fields, in turns, by
 * one caller over one connection.
 */
export async function measureClaimLatency(url: string): Promise<ClaimLatency> {
  const client = createClient({ url });
  const set = { status: "pending", tool: "send_email", attempt: 1, fingerprint: "0".repeat(64) };
  const claims: number[] = [];
  const puts: number[] = [];
  for (let round = 0; round < warmUps + rounds; round++) {
    const id = `latency-${round}`;
    const claim = await timed(() => client.put({ shape: "claim", id, set, ttl: 60, if_match: { exists: false } }));
    const put = await timed(() => client.put({ shape: "plain", id, set, ttl: 60 }));
    if (round < warmUps) continue;
    claims.push(claim);
    puts.push(put);
  }
  await client.close();
  return { claimMs: median(claims), putMs: median(puts) };
}

async function timed(write: () => Promise<{ readonly created: boolean }>): Promise<number> {
  const start = performance.now();
  const { created } = await write();
  if (!created) throw new Error("the measurement wrote over something");
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
