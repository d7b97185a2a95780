import { setTimeout as delay } from "node:timers/promises";
import type { ServerBounds } from "../../server/index.js";
import { ask, kill, startProcess } from "../torture/processes.js";
import type { Flood } from "./flood-judge.js";
import type { FloodOrder, FloodOutcome } from "./flood-sender.js";
import { LoadedServer } from "./loaded-server.js";

export interface FloodPlan extends Omit<FloodOrder, "port"> {
  readonly bounds: ServerBounds;
}

const pageDocuments = 100;
const pageTextBytes = 10_000;
const lookMs = 500;
/** A write is as quick as before when it takes no longer than that many times its usual time. */
const normalTimes = 2;
const recoveryMs = 60_000;

/** Floods a server of its own, and looks at it before, meanwhile and afterwards. */
export async function flood({ bounds, ...order }: FloodPlan): Promise<Flood> {
  const server = await LoadedServer.start(bounds);
  const sender = startProcess(new URL("flood-sender.ts", import.meta.url));
  try {
    await fill(server);
    const usual = await writeMs(server);
    const before = await server.mark();
    const flooding = ask<FloodOutcome>(sender, { ...order, port: server.port } satisfies FloodOrder);
    const { looks, looksFailed } = await lookUntil(server, flooding);
    const outcome = await flooding;
    const during = await server.measure();
    const slowness = await recovery(server, usual);
    const after = await server.measure();
    const { requests, held_bytes: held } = await server.numbers();
    return {
      outcome,
      looks,
      looksFailed,
      slowness,
      stored: await storedNumbers(server, outcome.sent),
      memoryMost: during.memoryMost - before.memoryMost,
      memoryKept: after.objects - before.objects,
      requestsLeft: requests,
      bytesLeft: held,
    };
  } finally {
    await kill(sender);
    await server.stop();
  }
}

async function fill(server: LoadedServer): Promise<void> {
  for (let n = 0; n < pageDocuments; n++) {
    await server.request("PUT", `/v1/documents/page/${n}`, { body: { set: { text: "x".repeat(pageTextBytes) } } });
  }
}

/** The middle of the times of some writes, one after the other. */
async function writeMs(server: LoadedServer): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 100; n++) {
    const begun = performance.now();
    await server.request("PUT", `/v1/documents/usual/${n}`, { body: { set: { n } } });
    times.push(performance.now() - begun);
  }
  return times.toSorted((one, other) => one - other)[50] ?? 0;
}

/** What an operator does: sees whether it lives, and what it counts. */
async function lookUntil(
  server: LoadedServer,
  flooding: Promise<unknown>,
): Promise<Pick<Flood, "looks" | "looksFailed">> {
  let isOver = false;
  flooding.then(
    () => {
      isOver = true;
    },
    () => {
      isOver = true;
    },
  );
  let looks = 0;
  let looksFailed = 0;
  while (!isOver) {
    for (const path of ["/healthz", "/readyz", "/v1/stats", "/metrics"]) {
      const status = await server.request("GET", path).then(
        (answer) => answer.status,
        () => undefined,
      );
      looks += 1;
      if (status !== 200) looksFailed += 1;
    }
    await delay(lookMs);
  }
  return { looks, looksFailed };
}

/** Waits until writes are as quick as before, and gives how many times slower they were when last looked at. */
async function recovery(server: LoadedServer, usual: number): Promise<number> {
  const end = performance.now() + recoveryMs;
  for (;;) {
    const slowness = (await writeMs(server)) / usual;
    if (slowness <= normalTimes || performance.now() > end) return slowness;
  }
}

async function storedNumbers(server: LoadedServer, sent: number): Promise<Set<number>> {
  const stored = new Set<number>();
  for (let from = 0; from < sent; from += 1000) {
    const keys = Array.from({ length: Math.min(1000, sent - from) }, (_, at) => ({
      shape: "flood",
      id: `${from + at}`,
    }));
    const { status, json } = await server.request("POST", "/v1/get-many", { body: { keys } });
    if (status !== 200) throw new Error(`get-many was answered ${status}: ${JSON.stringify(json)}`);
    for (const document of (json as { documents: readonly ({ fields: { n: number } } | null)[] }).documents) {
      if (document !== null) stored.add(document.fields.n);
    }
  }
  return stored;
}
