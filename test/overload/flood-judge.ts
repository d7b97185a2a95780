import type { FloodOutcome } from "./flood-sender.js";

/** A flood from its beginning until the server is back to normal. */
export interface Flood {
  readonly outcome: FloodOutcome;
  /** Numbers of the documents that were there at the end. */
  readonly stored: ReadonlySet<number>;
  /** Looks of an operator during the flood, at the server's health and at its numbers, and those without an answer. */
  readonly looks: number;
  readonly looksFailed: number;
  /** Bytes of the process: more than before at most, and of its objects afterwards. */
  readonly memoryMost: number;
  readonly memoryKept: number;
  /** What the server still counted afterwards. */
  readonly requestsLeft: number;
  readonly bytesLeft: number;
  /** How many times the usual time of a write one took afterwards, at best in a minute. */
  readonly slowness: number;
}

export interface FloodBounds {
  readonly memoryMax: number;
  readonly keptMax: number;
  readonly slownessMax: number;
}

/** What an overloaded server did that it must not do; empty when there is nothing. */
export function faultsOf(flood: Flood, bounds: FloodBounds): string[] {
  const { outcome, stored } = flood;
  const lost = outcome.acknowledged.filter((n) => !stored.has(n));
  const done = outcome.refused.filter((n) => stored.has(n));
  const faults: [string, boolean][] = [
    [`acknowledged writes are lost: ${lost.slice(0, 5)}`, lost.length > 0],
    [`writes were refused and done: ${done.slice(0, 5)}`, done.length > 0],
    [`answers that are none: ${JSON.stringify(outcome.wrong)}`, Object.keys(outcome.wrong).length > 0],
    [
      `${outcome.unknown.length} of ${outcome.sent} requests got no answer`,
      outcome.unknown.length * 100 > outcome.sent,
    ],
    [`${flood.looksFailed} of ${flood.looks} looks of an operator got no answer`, flood.looksFailed > 0],
    [`memory grew by ${flood.memoryMost} bytes`, flood.memoryMost > bounds.memoryMax],
    [`${flood.memoryKept} bytes are kept`, flood.memoryKept > bounds.keptMax],
    [`${flood.requestsLeft} requests are left`, flood.requestsLeft > 0],
    [`${flood.bytesLeft} bytes are still counted`, flood.bytesLeft > 0],
    [`a write takes ${flood.slowness} times its usual time`, flood.slowness > bounds.slownessMax],
  ];
  return faults.filter(([, isThere]) => isThere).map(([fault]) => fault);
}

/** Whether it was a flood at all, under which some writes were still done. */
export function isFlood({ acknowledged, refused }: FloodOutcome): boolean {
  return acknowledged.length > 0 && refused.length > 0;
}
