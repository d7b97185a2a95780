import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../base/clock.js";
import { invariant } from "../base/errors.js";
import type { DocumentStore } from "../documents/contract.js";
import type { ThreadAccess } from "../documents/thread-access.js";
import { RecordStore } from "./record-store.js";
import { type ThreadOrder, ThreadRenewals } from "./thread-renewals.js";

/* The program of the thread that renews claims: a store of its own, and orders from the thread of the tools. */

/** What the thread is started with. */
export interface ThreadStart {
  readonly access: ThreadAccess;
  readonly shape: string;
}

const { access, shape } = workerData as ThreadStart;
const port = parentPort;
invariant(port !== null, "this module is the program of a thread");
const module = (await import(access.module)) as { readonly [name: string]: (options: object) => DocumentStore };
const open = module[access.open];
invariant(open !== undefined, `${access.module} exports ${access.open}`);
const records = new RecordStore(open(access.options), shape);
// A thread's timers may let it end: its port keeps it, and the process does not wait for it.
const renewals = new ThreadRenewals(records, systemClock, () => process.hrtime.bigint());
port.on("message", (order: ThreadOrder) => renewals.obey(order));
port.postMessage("ready");
