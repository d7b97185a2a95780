import { CallInFlightError, openMemoryStore, toolCalls } from "oncekv";

// When a function around the tool does not fit: claim a call, do the work, settle it. Run it: npx tsx examples/claim-by-hand.ts

const store = await openMemoryStore();
const calls = toolCalls(store, { pendingTtl: 60 });
const request = { tool: "post_webhook", args: { url: "https://example.com/hook", event: "paid" }, wait: false };

const claim = await calls.claim(request);
if (!claim.claimed) throw new Error("nobody else is here");
console.log("claimed, attempt", claim.attempt);

// Whoever comes meanwhile waits, or with `wait: false` is told to come again.
try {
  await calls.claim(request);
} catch (error) {
  if (!(error instanceof CallInFlightError)) throw error;
  console.log("in flight; it lapses in at most", Math.ceil(error.retryAfter ?? 0), "seconds if its worker dies");
}

// The first try has certainly not reached the other side: give the call back.
await claim.release(new Error("connection refused"));

// The next one claims anew. The claim is renewed in the background; before a late effect, ask whether it still holds.
const second = await calls.claim(request);
if (!second.claimed) throw new Error("a released call can be claimed");
if (!second.isValid()) await second.renew();
const done = await second.complete({ delivered: true });
console.log("completed, attempt", done.attempt);

// From now on there is nothing to claim: the result is replayed.
const third = await calls.claim(request);
console.log("claimed again:", third.claimed, "result:", third.claimed ? undefined : third.result);

await calls.close();
await store.close();
