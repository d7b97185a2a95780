import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type EmittedCall, toolCallsFile } from "./emitted-call.js";

/*
 * Makes `examples/tool-calls.jsonl`, the same file every time: `npx tsx examples/demo/make-tool-calls.ts`.
 *
 * Agents of a shop work on their users' turns. Some calls come once; many come again, for all the usual reasons.
 */

const bursts = 6;
const newCallsInBurst = 31;
/** Why a call comes again at once, while the first may still be running. */
const repeats = ["the model emitted it twice", "retry after a timeout", "retry after a timeout, again"] as const;

/** A small generator of numbers from 0 up to 1 (mulberry32), so that the file never changes by itself. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The lines of the file. */
export function makeToolCalls(seed = 20_260_501): readonly EmittedCall[] {
  const random = seededRandom(seed);
  const calls: EmittedCall[] = [];
  let earlier: EmittedCall[] = [];
  for (let burst = 1; burst <= bursts; burst++) {
    const fresh = Array.from({ length: newCallsInBurst }, (_, index) => newCall(burst, index, random));
    const inBurst = fresh.flatMap((call) => [call, ...repeatsOf(call, random)]);
    for (const call of earlier) {
      if (random() < 0.3) inBurst.push({ ...call, burst, why: "redelivered by a queue that lost the answer" });
    }
    inBurst.push(...specialCalls(burst));
    calls.push(...shuffled(inBurst, random));
    earlier = fresh;
  }
  return calls;
}

function newCall(burst: number, index: number, random: () => number): EmittedCall {
  const order = 1000 + burst * 100 + index;
  const turn = `run-${String(burst * 10 + (index % 10)).padStart(3, "0")}/turn-${1 + Math.floor(index / 10)}`;
  const to = `customer-${Math.floor(random() * 50)}@example.com`;
  if (index % 4 === 3) {
    return { burst, turn, tool: "send_text", args: { to, order, text: "Your parcel is on its way." }, why: "new" };
  }
  const items = [{ sku: `A-${order}`, count: 1 + Math.floor(random() * 3) }];
  return {
    burst,
    turn,
    tool: "send_email",
    args: { to, order, template: "order_shipped", data: { items } },
    why: "new",
  };
}

function repeatsOf(call: EmittedCall, random: () => number): EmittedCall[] {
  const chance = random();
  if (chance < 0.55) return [];
  if (chance < 0.75)
    return [{ ...call, args: reordered(call.args), why: "again, with its properties in another order" }];
  return repeats.slice(0, 1 + Math.floor(random() * repeats.length)).map((why) => ({ ...call, why }));
}

/** The same value, with the members of every object the other way round. */
function reordered<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(reordered) as Value;
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).reverse();
  return Object.fromEntries(members.map(([name, member]: [string, unknown]) => [name, reordered(member)])) as Value;
}

/** The calls that this is about: two that look alike and are not the same, and one that is wrong. */
function specialCalls(burst: number): EmittedCall[] {
  const reminder = { to: "ana@example.com", template: "appointment_reminder", data: { day: "Friday" } };
  const receipt = { to: "ben@example.com", template: "receipt", data: { invoice: 2041, amount: "120.00" } };
  const tool = "send_email";
  const key = "invoice-2041";
  switch (burst) {
    case 2:
      return [
        { burst, turn: "run-900/turn-1", tool, args: reminder, why: "the user asked for a reminder" },
        { burst, turn: "run-900/turn-1", tool, args: reminder, why: "the model emitted it twice" },
        { burst, turn: "run-901/turn-1", tool, args: receipt, key, why: "new, with a key of the caller's own" },
        { burst, turn: "run-901/turn-1", tool, args: receipt, key, why: "retry after a timeout" },
      ];
    case 5: {
      const wrong = { ...receipt, data: { invoice: 2041, amount: "210.00" } };
      return [
        { burst, turn: "run-900/turn-4", tool, args: reminder, why: "the user asked for the same reminder once more" },
        { burst, turn: "run-901/turn-3", tool, args: wrong, key, why: "a mistake: the same key with other arguments" },
      ];
    }
    default:
      return [];
  }
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const result: Item[] = [];
  for (const item of items) result.splice(Math.floor(random() * (result.length + 1)), 0, item);
  return result;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const lines = makeToolCalls().map((call) => JSON.stringify(call));
  await writeFile(toolCallsFile, `${lines.join("\n")}\n`);
  console.log(`${lines.length} calls written to ${fileURLToPath(toolCallsFile)}`);
}
