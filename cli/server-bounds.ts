import { Option } from "commander";
import type { ServerBounds } from "../server/index.js";
import { parseRate, parseWhole } from "./option-values.js";

/** One option, and how its value is read. What it may be is the server's matter. */
interface BoundOption {
  readonly flags: string;
  readonly description: string;
  readonly parse: (text: string) => number;
}

/** Names of bounds that have an option. */
type BoundName = Exclude<keyof ServerBounds, `${string}Ms`>;

/** By their names: commander makes the same names of the options. */
const boundOptions: { readonly [Name in BoundName]: BoundOption } = {
  requestsPerSecond: {
    flags: "--requests-per-second <n>",
    description: "of each token without a number of its own; beyond that, 429",
    parse: parseRate,
  },
  requestsAtOnce: {
    flags: "--requests-at-once <n>",
    description: "the same for requests at the same time, waits and streams among them",
    parse: parseWhole,
  },
  connectionsMax: {
    flags: "--connections-max <n>",
    description:
      "connections; 25000 when absent, or fewer where the system allows few open files; beyond that idle ones are closed, then new ones",
    parse: parseWhole,
  },
  requestsMax: {
    flags: "--requests-max <n>",
    description: "requests carried out at once, without waits, streams and backups; 5000 when absent; beyond that, 503",
    parse: parseWhole,
  },
  heldBytesMax: {
    flags: "--held-bytes-max <n>",
    description: "bytes of bodies, and of answers that wait for readers; 134217728 when absent; beyond that, 503",
    parse: parseWhole,
  },
  waitingEventBytesMax: {
    flags: "--waiting-event-bytes-max <n>",
    description: "bytes of events that wait for readers; 67108864 when absent; beyond that slow ones are cut",
    parse: parseWhole,
  },
  waitsMax: {
    flags: "--waits-max <n>",
    description: "waits for changes and calls, 0: none; 10000 when absent; beyond that, 503",
    parse: parseWhole,
  },
  streamsMax: {
    flags: "--streams-max <n>",
    description: "streams of changes, 0: none; 10000 when absent; beyond that, 503",
    parse: parseWhole,
  },
};

/** The bounds that a command line can give. */
export type BoundValues = Pick<ServerBounds, BoundName>;

/** The options of `oncekv serve` that bound the server. */
export function makeBoundOptions(): readonly Option[] {
  return Object.values(boundOptions).map(({ flags, description, parse }) =>
    new Option(flags, description)
      .argParser(parse)
      .helpGroup("Bounds, of all senders together unless it says otherwise:"),
  );
}

/** The bounds among the options of a command; what was not given is left out, not undefined. */
export function boundsOf(options: BoundValues): ServerBounds {
  const names = Object.keys(boundOptions) as BoundName[];
  return Object.fromEntries(names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])));
}
