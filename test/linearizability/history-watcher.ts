import { EventStreamParser } from "../../client/event-stream-parser.js";
import { type Commit, createClient, OnceKvError } from "../../client/index.js";

/*
 * Follows all commits from the store's first one on, in a process of its own, in two ways at once: by the client, which connects
 * again by itself, and from the bare stream, connected again by hand after the last event that came whole. The client passes
 * over what a server sends twice; the bare stream shows it.
 */

/** A commit, and when it was received, by the machine's monotonic clock. */
export interface ReceivedCommit extends Commit {
  readonly received: bigint;
}

/** What it is told: where the server is, once; or to give what came up to a revision, as soon as that has come. */
export type WatcherMessage = { readonly url: string } | { readonly until: number };

/** What both have received up to there since they were asked last, and how often the bare stream began anew. */
export interface WatcherAnswer {
  readonly byClient: readonly ReceivedCommit[];
  readonly byStream: readonly ReceivedCommit[];
  readonly resumed: number;
  /** Why one of them has ended, which none should. */
  readonly fault?: string;
}

const received: { readonly [way in "byClient" | "byStream"]: ReceivedCommit[] } = { byClient: [], byStream: [] };
let positions = { byClient: 0, byStream: 0 };
let resumed = 0;
let fault: string | undefined;
let asked: number | undefined;

process.on("message", (message: WatcherMessage) => {
  if ("until" in message) asked = message.until;
  else {
    followByClient(message.url).catch(fail);
    followStream(message.url).catch(fail);
  }
  answer();
});
process.on("disconnect", () => process.exit(0));

function fail(error: unknown): void {
  fault ??= String(error);
  answer();
}

function take(way: "byClient" | "byStream", commit: Commit): void {
  if (commit.changes.length > 0) received[way].push({ ...commit, received: process.hrtime.bigint() });
  positions = { ...positions, [way]: commit.revision };
  answer();
}

function answer(): void {
  if (asked === undefined) return;
  const until = asked;
  if (fault === undefined && (positions.byClient < until || positions.byStream < until)) return;
  asked = undefined;
  const [byClient, byStream] = [takeUpTo("byClient", until), takeUpTo("byStream", until)];
  process.send?.({ byClient, byStream, resumed, ...(fault === undefined ? {} : { fault }) } satisfies WatcherAnswer);
}

/** What is beyond stays for the next question: one of the two may be ahead. */
function takeUpTo(way: "byClient" | "byStream", until: number): readonly ReceivedCommit[] {
  const end = received[way].findIndex(({ revision }) => revision > until);
  return received[way].splice(0, end === -1 ? received[way].length : end);
}

async function followByClient(url: string): Promise<void> {
  const store = createClient({ url });
  for (;;) {
    try {
      for await (const commit of store.watch({ since: positions.byClient })) take("byClient", commit);
    } catch (error) {
      // On a busy machine a server may be away for longer than the client tries: whoever watches goes on from there.
      if (!(error instanceof OnceKvError) || error.code !== "unavailable") throw error;
    }
  }
}

async function followStream(url: string): Promise<void> {
  for (let last = "0"; ; ) {
    const parser = new EventStreamParser();
    const before = last;
    const ended = new AbortController();
    try {
      const response = await fetch(`${url}/v1/changes`, {
        headers: { accept: "text/event-stream", "last-event-id": last },
        signal: ended.signal,
      });
      if (response.status === 410 || response.status === 400) throw new Error(await response.text());
      if (response.status !== 200 || response.body === null) continue;
      for await (const piece of response.body) {
        for (const { type, id, data } of parser.push(piece as Uint8Array)) {
          if (type === "error") throw new TypeError(data);
          if (type === "bookmark" && id === before && before !== "0") resumed += 1;
          last = id;
          take("byStream", JSON.parse(data) as Commit);
        }
      }
    } catch (error) {
      // A connection that was cut or refused is what is tried here.
      if (!(error instanceof TypeError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    } finally {
      ended.abort();
    }
  }
}
