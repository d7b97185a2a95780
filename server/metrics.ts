import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { ToolCallStats } from "../src/tool-calls/index.js";
import type { ReloadState } from "./reload/reload-count.js";
import type { CountedReviews } from "./review-count.js";

/** What a server has to tell about itself when it is scraped. */
export interface MetricSources {
  /** Numbers of the store, by name; other members are passed over. */
  readonly storeStats: () => object;
  /** Waits that are held. */
  readonly waits: () => number;
  /** Streams of changes that are held. */
  readonly streams: () => number;
  /** What requests hold. */
  readonly load: { readonly requests: number; readonly bytes: number; readonly refused: number; readonly cut: number };
  /** Events that wait for their readers. */
  readonly waitingEvents: { readonly bytes: number; readonly cut: number };
  readonly connections: { readonly size: number; readonly refused: number };
  /** What has happened to the tool calls that were made through the server. */
  readonly toolCalls: () => ToolCallStats;
  /** The latest count of calls in doubt; undefined: there is none yet. Asking must cost nothing. */
  readonly reviews: () => CountedReviews | undefined;
  /** Files that are read again when they change; none when the server watches none. */
  readonly reloads: () => readonly ReloadState[];
  /** Whether to tell about memory, processor and event loop too. */
  readonly processMetrics: boolean;
}

/** Notes one answer of a route. */
export type RecordAnswer = (status: number, seconds: number) => void;

/** What the counters of tool calls count. All of it is what this server has seen: workers with a store of their own count too. */
const callCounters: { readonly [Name in keyof ToolCallStats]: string } = {
  fired: "Claims given out over HTTP",
  replayed: "Claimants who got a stored result or failure",
  conflicts: "Claimants who came with other arguments than the key is bound to",
  waits: "Claimants who waited for somebody else's claim",
  lapses: "Lapsed claims that claimants found",
  fenced: "Outcomes of late holders that were refused",
  reviews: "Claimants who were told that somebody must find out first",
};

/** From a read in memory to a batch on a slow disk. */
const secondsBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The metrics of one server, in a registry of its own, so that several servers in one process do not mix. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #durations: Histogram<"method" | "route" | "status">;

  constructor(sources: MetricSources) {
    const registers = [this.#registry];
    this.#durations = new Histogram({
      name: "oncekv_http_request_duration_seconds",
      help: "Time from the arrival of a request to the end of its answer; waits and streams have routes of their own",
      labelNames: ["method", "route", "status"],
      buckets: secondsBuckets,
      registers,
    });
    gauge("oncekv_http_waits", "Waits for a change that are held now", sources.waits, registers);
    gauge("oncekv_http_streams", "Streams of changes that are held now", sources.streams, registers);
    const { load, waitingEvents, connections } = sources;
    gauge("oncekv_http_connections", "Connections that are open now", () => connections.size, registers);
    gauge(
      "oncekv_http_requests",
      "Requests that are carried out now, without waits and streams",
      () => load.requests,
      registers,
    );
    gauge(
      "oncekv_http_held_bytes",
      "Bytes of bodies, and of answers that wait for their readers",
      () => load.bytes,
      registers,
    );
    gauge(
      "oncekv_http_waiting_event_bytes",
      "Bytes of events that wait for their readers",
      () => waitingEvents.bytes,
      registers,
    );
    counter(
      "oncekv_http_requests_refused_total",
      "Requests refused since the server held too much",
      () => load.refused,
      registers,
    );
    counter(
      "oncekv_http_readers_cut_total",
      "Connections cut since they did not take what was sent",
      () => load.cut + waitingEvents.cut,
      registers,
    );
    counter(
      "oncekv_http_connections_refused_total",
      "Connections closed since there were too many",
      () => connections.refused,
      registers,
    );
    for (const name of Object.keys(callCounters) as (keyof ToolCallStats)[]) {
      counter(`oncekv_tool_calls_${name}_total`, callCounters[name], () => sources.toolCalls()[name], registers);
    }
    const review = (read: (counted: CountedReviews) => number) => () => {
      const counted = sources.reviews();
      return counted === undefined ? undefined : read(counted);
    };
    gauge(
      "oncekv_tool_calls_in_doubt",
      "Calls that nobody may fire until their outcome is resolved, counted at most once a minute",
      review(({ open }) => open),
      registers,
    );
    gauge(
      "oncekv_tool_calls_in_doubt_complete",
      "1 when that count looked at all records, 0 when there are too many for it",
      review(({ complete }) => (complete ? 1 : 0)),
      registers,
    );
    addReloadMetrics(sources.reloads, registers);
    const stats = sources.storeStats();
    for (const name of Object.keys(stats)) {
      if (numberOf(stats, name) === undefined) continue;
      const help = `${name.replaceAll("_", " ")} of the store`;
      gauge(`oncekv_store_${name}`, help, () => numberOf(sources.storeStats(), name) ?? Number.NaN, registers);
    }
    if (sources.processMetrics) collectDefaultMetrics({ register: this.#registry });
  }

  /** The recorder of one route. Made once a route: it keeps the observer of each status. */
  recorder(method: string, route: string): RecordAnswer {
    const observers = new Map<number, (seconds: number) => void>();
    return (status, seconds) => {
      let observe = observers.get(status);
      if (observe === undefined) {
        observe = this.#durations.labels(method, route, String(status)).observe;
        observers.set(status, observe);
      }
      observe(seconds);
    };
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in the text form of Prometheus. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}

/** @param read undefined: there is nothing to show yet */
function gauge(name: string, help: string, read: () => number | undefined, registers: Registry[]): void {
  new Gauge({
    name,
    help,
    registers,
    collect() {
      const value = read();
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

/** Of the tokens file and of the TLS files, each with its label. */
function addReloadMetrics(states: () => readonly ReloadState[], registers: Registry[]): void {
  const labelNames = ["files"] as const;
  new Gauge({
    name: "oncekv_reload_refused",
    help: "1 while the newest content of the files is refused, and an older one in use",
    labelNames,
    registers,
    collect() {
      for (const { files, isRefused } of states()) this.set({ files }, isRefused ? 1 : 0);
    },
  });
  new Counter({
    name: "oncekv_reload_refusals_total",
    help: "Contents of the files that were refused",
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { files, refusals } of states()) this.inc({ files }, refusals);
    },
  });
}

/** A count that somebody else keeps. */
function counter(name: string, help: string, read: () => number, registers: Registry[]): void {
  new Counter({
    name,
    help,
    registers,
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

function numberOf(stats: object, name: string): number | undefined {
  const value: unknown = Object.getOwnPropertyDescriptor(stats, name)?.value;
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
