import { InvalidRequestError } from "../src/base/errors.js";
import type { Limits } from "../src/base/limits.js";
import { readMembers } from "../src/documents/request-members.js";
import { checkAtOnce, checkPerSecond } from "./access/request-bounds.js";

/** Bounds of the server itself, each with its reason. What a document may be is bounded by the store's own `limits`. */
export interface ServerLimits {
  /** Waits held at the same time. Each holds a connection and a little memory; beyond that, 503 `overloaded`. */
  readonly waitsMax: number;
  /** Streams of changes held at the same time, for the same reason. */
  readonly streamsMax: number;
  /** Backups that are given out at the same time: each reads the whole store and holds a snapshot. */
  readonly backupsMax: number;
  /** Milliseconds in which the reader of a backup must take something, since nobody else gets one meanwhile. */
  readonly backupStallMs: number;
  /** Requests carried out at the same time, without waits, streams and backups: each has a few kilobytes in memory. */
  readonly requestsMax: number;
  /** Bytes of bodies that have arrived and of answers that wait for their readers: twice a batch at its limit. */
  readonly heldBytesMax: number;
  /** Bytes of events that wait for slow readers of streams, who are cut beyond that: they can come back and go on. */
  readonly waitingEventBytesMax: number;
  /** Pages and `get-many` that are put together at the same time: how large one becomes shows only when it is done. */
  readonly pagesAtOnceMax: number;
  /** Connections, each of which is an open file: all waits and streams, and some for everything else. */
  readonly connectionsMax: number;
  /** Open files that are left to the store, which has up to 1,000 tables open, and to everything else in the process. */
  readonly otherFilesMax: number;
  /** Milliseconds that `close` lets requests in flight finish. Orchestrators kill a process after 30 s or so. */
  readonly drainDeadlineMs: number;
  /** Milliseconds between the comments that keep a quiet stream alive: proxies cut one after 60 s, some after 30 s. */
  readonly heartbeatMs: number;
  /** Milliseconds that an idle connection is kept. Load balancers keep theirs for 60 s and must be the ones to close. */
  readonly keepAliveMs: number;
  /** Milliseconds in which a TLS handshake must be done, for the same reason as the head of a request. */
  readonly handshakeMs: number;
  /** Milliseconds in which the head of a request must have arrived: a slow sender holds a connection. */
  readonly headersMs: number;
  /** Milliseconds in which a whole request must have arrived: a batch at its limit over a slow line. */
  readonly requestMs: number;
  /** Milliseconds in which an answer, or an event of a stream, must have been taken, for the same reason. */
  readonly answerMs: number;
  /** Milliseconds between two searches for requests that are late. */
  readonly lateRequestsMs: number;
  /** Milliseconds after which a silent connection is probed, so that waits of dead clients come to an end. */
  readonly probeMs: number;
  /** Characters of the name of a worker, which is for people. */
  readonly ownerLengthMax: number;
  /** Milliseconds between two counts of the calls that need review: each reads all records. */
  readonly reviewCountMs: number;
  /** Records that one such count looks at; beyond that it says that it is not complete. */
  readonly reviewRecordsMax: number;
  /** Characters of one part of the path. Longer than any header section, so that the store judges ids, and says why. */
  readonly pathPartLengthMax: number;
}

/** The bounds of every server that is not given others. */
export const serverLimits: ServerLimits = Object.freeze({
  waitsMax: 10_000,
  streamsMax: 10_000,
  backupsMax: 1,
  backupStallMs: 60_000,
  requestsMax: 5000,
  heldBytesMax: 128 * 1024 * 1024,
  waitingEventBytesMax: 64 * 1024 * 1024,
  pagesAtOnceMax: 8,
  connectionsMax: 25_000,
  otherFilesMax: 1500,
  drainDeadlineMs: 10_000,
  heartbeatMs: 15_000,
  keepAliveMs: 72_000,
  handshakeMs: 10_000,
  headersMs: 30_000,
  requestMs: 120_000,
  answerMs: 120_000,
  lateRequestsMs: 5000,
  probeMs: 60_000,
  ownerLengthMax: 256,
  reviewCountMs: 60_000,
  reviewRecordsMax: 100_000,
  pathPartLengthMax: 64 * 1024,
});

/** Bounds that a server can be given. */
export interface ServerBounds {
  /** Waits held at the same time; 10,000 when absent. */
  readonly waitsMax?: number;
  /** Streams of changes held at the same time; 10,000 when absent. */
  readonly streamsMax?: number;
  /** Requests carried out at the same time, without waits, streams and backups; 5,000 when absent. Beyond that, 503. */
  readonly requestsMax?: number;
  /** Bytes of bodies that have arrived and of answers that wait for their readers; 128 MiB when absent. Beyond that, 503. */
  readonly heldBytesMax?: number;
  /** Bytes of events that wait for slow readers of streams; 64 MiB when absent. Beyond that the slowest are cut. */
  readonly waitingEventBytesMax?: number;
  /**
   * Connections at the same time; when absent 25,000, or as many as the process may open files and leave some to the store.
   * Beyond that those that do nothing are closed, and then new ones.
   */
  readonly connectionsMax?: number;
  /** Milliseconds in which the head of a request must have arrived; 30,000 when absent. Beyond that, 408. */
  readonly headersMs?: number;
  /** Milliseconds in which a whole request must have arrived; 120,000 when absent. Beyond that, 408. */
  readonly requestMs?: number;
  /** Milliseconds in which an answer, or an event of a stream, must have been taken; 120,000 when absent. Beyond that it is cut. */
  readonly answerMs?: number;
  /** Milliseconds that an idle connection is kept; 72,000 when absent. */
  readonly keepAliveMs?: number;
  /** Milliseconds that closing lets requests in flight finish; 10,000 when absent. */
  readonly drainDeadlineMs?: number;
  /**
   * Requests a second of each token that has no number of its own, or of all senders when there are no tokens; beyond
   * that, 429. Above 0, fractions allowed; any number when absent.
   */
  readonly requestsPerSecond?: number;
  /** The same for requests at the same time, waits and streams among them; from 1, any number when absent. */
  readonly requestsAtOnce?: number;
}

/** The bounds of a server that is given some. */
export type GivenLimits = ServerLimits & Pick<ServerBounds, "requestsPerSecond" | "requestsAtOnce">;

/**
 * Completes the bounds of a server.
 *
 * @param openFilesMax that the process may have; undefined when that is not known
 * @throws InvalidRequestError for a bound that is none
 */
export function limitsOf(bounds: ServerBounds, openFilesMax: number | undefined): GivenLimits {
  checkBounds(bounds);
  // One that is undefined must not take the place of the server's own.
  const given: ServerBounds = Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined));
  return { ...serverLimits, connectionsMax: connectionsFor(openFilesMax), ...given };
}

/** Judges bounds before anything is opened for them. @throws InvalidRequestError for a bound that is none */
export function checkBounds(bounds: ServerBounds): void {
  for (const [name, value] of Object.entries(readMembers(bounds, "bounds", "the bounds", boundNames))) {
    if (value !== undefined) boundJudges.get(name)?.(value, `bounds.${name}`);
  }
}

type BoundJudge = (value: unknown, path: string) => void;

const atLeast =
  (least: number): BoundJudge =>
  (value, path) => {
    if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= boundMax) return;
    throw new InvalidRequestError(path, `must be a whole number from ${least} to ${boundMax}`);
  };

/** Nothing at all of a kind is a sensible wish for some. */
const judges: { readonly [Name in keyof Required<ServerBounds>]: BoundJudge } = {
  waitsMax: atLeast(0),
  streamsMax: atLeast(0),
  requestsMax: atLeast(1),
  heldBytesMax: atLeast(1),
  waitingEventBytesMax: atLeast(1),
  connectionsMax: atLeast(1),
  headersMs: atLeast(1),
  requestMs: atLeast(1),
  answerMs: atLeast(1),
  keepAliveMs: atLeast(1),
  drainDeadlineMs: atLeast(0),
  requestsPerSecond: checkPerSecond,
  requestsAtOnce: checkAtOnce,
};

const boundJudges: ReadonlyMap<string, BoundJudge> = new Map(Object.entries(judges));
const boundNames: ReadonlySet<string> = new Set(boundJudges.keys());

/** Node takes no longer times. */
const boundMax = 2 ** 31 - 1;

/** What a server of Node is told about its connections, besides the times that Fastify passes on by itself. */
export function connectionTimes(limits: ServerLimits): {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly connectionsCheckingInterval: number;
  readonly keepAlive: boolean;
  readonly keepAliveInitialDelay: number;
} {
  return {
    headersTimeout: Math.min(limits.headersMs, limits.requestMs),
    // Fastify sets this one later, and Node compares both before that.
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: Math.min(limits.lateRequestsMs, limits.headersMs, limits.requestMs),
    keepAlive: true,
    keepAliveInitialDelay: limits.probeMs,
  };
}

/** Without open files the store could not write any more, and would have to be opened again. */
function connectionsFor(openFilesMax: number | undefined): number {
  const { connectionsMax, otherFilesMax } = serverLimits;
  if (openFilesMax === undefined) return connectionsMax;
  const left = openFilesMax - Math.min(otherFilesMax, Math.floor(openFilesMax / 2));
  return Math.min(connectionsMax, left);
}

/**
 * A byte of a stored document takes at most so many in JSON text: a control character as `\u0001`, and `false` with its
 * comma, are one byte in store. A body limit below that would refuse documents that the store takes.
 */
export const textBytesPerStoredByte = 6;

/** Names, braces and a condition's revision around the fields. */
const envelopeBytes = 64 * 1024;

/** Bytes of the body of a single write: its fields, and those of its condition. */
export function writeBodyBytesMax(limits: Limits): number {
  return 2 * limits.fieldsBytesMax * textBytesPerStoredByte + envelopeBytes;
}

/** Bytes of the body of a batch: the fields of all its operations, and a condition and a key for each. */
export function batchBodyBytesMax(limits: Limits): number {
  const operationBytes = limits.idBytesMax * textBytesPerStoredByte + 512;
  return limits.batchBytesMax * textBytesPerStoredByte + limits.batchOperationsMax * operationBytes + envelopeBytes;
}

/** Bytes of the body of a `get-many`. */
export function keysBodyBytesMax(limits: Limits): number {
  return limits.getManyKeysMax * (limits.idBytesMax * textBytesPerStoredByte + 512) + envelopeBytes;
}
