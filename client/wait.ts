import type { Clock } from "../src/base/clock.js";
import { OnceKvError } from "../src/base/errors.js";
import type { Document, WaitResult } from "../src/documents/contract.js";
import type { CheckedWait } from "../src/documents/requests-read.js";
import { pause, unlessAborted } from "./abortable.js";
import type { HttpRequest } from "./exchange.js";
import { backoffMs } from "./retry.js";
import type { StartOrder } from "./start-order.js";
import type { ApiAnswer } from "./transport.js";

/** What a wait needs from the client it belongs to. */
export interface WaitPorts {
  readonly clock: Clock;
  readonly random: () => number;
  /** End the wait with their reason. */
  readonly signals: readonly AbortSignal[];
  readonly order: StartOrder;
  /** Sends a request for the document, `next()` before each attempt. 200, 404, or 304 when it had the headers for one. */
  send(next: () => HttpRequest, signals: readonly AbortSignal[]): Promise<ApiAnswer>;
  /** A request for the document with these headers. */
  request(headers: readonly string[], holdMs: number): HttpRequest;
}

/** One request waits for at most this long: proxies cut what is silent for longer, the strictest after 30 s. */
const requestMsMax = 25_000;

/**
 * A server that shuts down answers before its time. It is asked again, elsewhere or when it is back, but not again and
 * again until it is gone. An answer that is early by less is a matter of two clocks.
 */
const earlyMsMin = 100;

/**
 * Waits until the document's revision differs from the one that is known, over as many requests as it takes. Each asks
 * the server to hold its answer back until something changes; the last one, when the time is over, just reads.
 */
export async function waitForChange<F>(ports: WaitPorts, wait: CheckedWait): Promise<WaitResult<F>> {
  const { clock } = ports;
  const end = clock.monotonicNow() + wait.timeoutMs;
  const known = wait.after ?? (await revisionNow(ports));
  let isLast = false;
  let heldUntil = 0;
  const next = (): HttpRequest => {
    const now = clock.monotonicNow();
    isLast = now >= end;
    if (isLast) return ports.request([], 0);
    const holdMs = Math.min(Math.ceil(end - now), requestMsMax);
    heldUntil = now + holdMs;
    return ports.request(["if-none-match", `"${known}"`, "prefer", `wait=${holdMs / 1000}`], holdMs);
  };
  for (let early = 0; ; ) {
    const answer = await ports.send(next, ports.signals);
    if (answer.status !== 304) {
      const changed = revisionOf(answer) !== known;
      if (changed || isLast) return { changed, document: documentOf<F>(answer) };
    }
    const now = clock.monotonicNow();
    early = now < heldUntil - earlyMsMin ? early + 1 : 0;
    if (early > 0) await pause(clock, Math.min(end - now, backoffMs(early, ports.random())), ports.signals);
  }
}

/** The state at the call, which calls made after it must not overtake. */
async function revisionNow(ports: WaitPorts): Promise<number> {
  const overtaken = new AbortController();
  const { earlier } = ports.order;
  const known = ports.order.begin(() =>
    overtaken.abort(new OnceKvError("unavailable", "the wait did not begin before later calls had to go on")),
  );
  const signals = [...ports.signals, overtaken.signal];
  try {
    if (earlier !== undefined) await unlessAborted(earlier, signals);
    return revisionOf(await ports.send(() => ports.request([], 0), signals));
  } finally {
    known();
  }
}

function documentOf<F>(answer: ApiAnswer): Document<F> | null {
  return answer.body as Document<F> | null;
}

function revisionOf(answer: ApiAnswer): number {
  return documentOf(answer)?.revision ?? 0;
}
