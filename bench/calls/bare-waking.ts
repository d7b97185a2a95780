import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "undici";
import { WrongResultError } from "../checks.js";
import { startChild } from "../child.js";
import type { HeldProcessMethods } from "./held-process.js";
import { heldPaths } from "./held-requests.js";
import type { Waking } from "./waking.js";

/** Requests that a bare server holds, and the client library that ours uses, without anything of ours around it. */
export interface BarePlace {
  readonly waits: Pool;
  readonly control: Pool;
}

/** Seconds within which the server must hold all requests. */
const settlingSeconds = 20;

/** Starts the bare server in a process of its own, and opens its client here. */
export async function withBarePlace(use: (place: BarePlace) => Promise<void>): Promise<void> {
  const child = startChild<HeldProcessMethods>(new URL("./held-process.ts", import.meta.url));
  try {
    const { url } = await child.call("listen", undefined);
    const place = { waits: new Pool(url), control: new Pool(url) };
    try {
      await use(place);
    } finally {
      await Promise.all([place.waits.destroy(), place.control.destroy()]);
    }
  } finally {
    await child.stop();
  }
}

/** Has the server hold so many requests, and release them all. */
export async function wakeBarely({ waits, control }: BarePlace, waiters: number): Promise<Waking> {
  let ended: { readonly error: unknown } | undefined;
  const waiting = Promise.all(
    Array.from({ length: waiters }, async () => {
      await readRecord(waits, heldPaths.wait);
      return performance.now();
    }),
  );
  waiting.catch((error: unknown) => {
    ended = { error };
  });
  const end = performance.now() + settlingSeconds * 1000;
  while ((await heldBy(control)) < waiters) {
    if (ended !== undefined) throw ended.error;
    if (performance.now() > end) throw new WrongResultError(`the bare server does not hold ${waiters} requests`);
    await pause(1);
  }
  const begun = performance.now();
  const releasing = readRecord(control, heldPaths.release).then(() => performance.now());
  const [awake, released] = await Promise.all([waiting, releasing]);
  return { awakeMs: awake.map((at) => at - begun).sort((one, other) => one - other), completedMs: released - begun };
}

async function readRecord(pool: Pool, path: string): Promise<void> {
  const { statusCode, body } = await pool.request({ method: "GET", path });
  const { revision } = (await body.json()) as { readonly revision?: unknown };
  if (statusCode !== 200 || revision !== 3) throw new WrongResultError("the bare server gave another answer");
}

async function heldBy(pool: Pool): Promise<number> {
  const { body } = await pool.request({ method: "GET", path: heldPaths.held });
  return Number(await body.text());
}
