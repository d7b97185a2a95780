import * as idempotency from "@aws-lambda-powertools/idempotency";
import * as persistence from "@aws-lambda-powertools/idempotency/persistence";
import { openMemoryStore } from "oncekv";
import { persistenceLayer } from "oncekv/adapters/powertools";

// Powertools for AWS Lambda over the store. Run it: npx tsx examples/adapters/powertools.ts

const store = await openMemoryStore(); // of a Lambda: createClient({ url }), and an oncekv server that all of them reach
let charges = 0;

/** A process of the Lambda, with a layer of its own. */
function lambda(crashes: boolean) {
  const charge = async (event: { order: string; amount: number }, _context: object): Promise<string> => {
    if (crashes) await new Promise(() => {}); // it is killed before its effect, and never heard of again
    charges += 1;
    return `charge ${charges}: ${event.amount} for ${event.order}`;
  };
  const persistenceStore = persistenceLayer({ ...idempotency, ...persistence }, store);
  const config = new idempotency.IdempotencyConfig({ eventKeyJmesPath: "order" });
  return idempotency.makeIdempotent(charge, { persistenceStore, config, keyPrefix: "charge" });
}

const invoke = (handler: ReturnType<typeof lambda>, order: string, remaining = 30_000): Promise<string> =>
  handler({ order, amount: 10 }, { getRemainingTimeInMillis: () => remaining });
const told = (invocation: Promise<string>): Promise<string> => invocation.catch((error: Error) => error.name);

// One order, invoked twice at the same time by two processes, and once more.
console.log(await Promise.all([told(invoke(lambda(false), "order-1")), told(invoke(lambda(false), "order-1"))]));
console.log(await told(invoke(lambda(false), "order-1")));

// Another one, whose first process dies with 50 ms left. Its event comes again at once, and then when that time is over.
void invoke(lambda(true), "order-2", 50);
console.log(await told(invoke(lambda(false), "order-2")));
await new Promise((resolve) => setTimeout(resolve, 100));
console.log(await told(invoke(lambda(false), "order-2")));
await store.close();

console.log(`2 orders, 6 invocations, ${charges} charges`);
if (charges !== 2) process.exitCode = 1;
