import { checkFunction, readMembers } from "../documents/request-members.js";
import type { AcquisitionEvent, CallAnswer } from "./acquisition-decisions.js";
import { holdLeftMs } from "./decisions.js";
import type { SeenRecord, ToolCallIdentity, ToolCallRecord } from "./record.js";
import type { HeldClaim } from "./transition-types.js";

/** A call that something happened to. */
export interface ObservedCall {
  readonly tool: string;
  readonly key: string;
  readonly attempt: number;
}

/**
 * What happens to the calls of one `toolCalls`, as it happens. Hooks are called in the middle of a call and cannot change
 * it: they must not take long, and what they throw is dropped.
 */
export interface ToolCallHooks {
  /** A tool is about to be entered, or a claim was given to a caller by hand. */
  readonly onFire?: ((call: ObservedCall & { readonly fencing_token: number }) => void) | undefined;
  /** A caller gets a stored result or a stored failure. */
  readonly onReplay?: ((call: ObservedCall & { readonly status: "completed" | "failed" }) => void) | undefined;
  /** A caller came with other arguments than the key is bound to. */
  readonly onConflict?: ((call: ObservedCall) => void) | undefined;
  /** A caller found a claim that had lapsed: its holder died, hung or lost the store. */
  readonly onLapse?: ((call: ObservedCall & { readonly owner: string | null }) => void) | undefined;
}

/** How often what has happened since `toolCalls` was called. */
export interface ToolCallStats {
  /** Tools entered, and claims given out by hand. */
  readonly fired: number;
  /** Callers who got a stored result or failure. */
  readonly replayed: number;
  /** Callers who came with other arguments. */
  readonly conflicts: number;
  /** Callers who waited for somebody else's claim. */
  readonly waits: number;
  /** Lapsed claims that callers found. */
  readonly lapses: number;
  /** Outcomes of late holders that were refused. */
  readonly fenced: number;
  /** Callers who were told that somebody must find out first. */
  readonly reviews: number;
}

type Counts = { -readonly [Name in keyof ToolCallStats]: ToolCallStats[Name] };

const hookNames: ReadonlySet<string> = new Set(["onFire", "onReplay", "onConflict", "onLapse"]);

/** @throws InvalidRequestError */
export function checkHooks(hooks: ToolCallHooks | undefined): ToolCallHooks {
  if (hooks === undefined) return {};
  readMembers(hooks, "hooks", "the hooks", hookNames);
  for (const [name, hook] of Object.entries(hooks)) checkFunction(hook, `hooks.${name}`);
  return hooks;
}

/** Counts what happens to calls, and tells the hooks. */
export class Observer {
  readonly #hooks: ToolCallHooks;
  readonly #counts: Counts = { fired: 0, replayed: 0, conflicts: 0, waits: 0, lapses: 0, fenced: 0, reviews: 0 };

  constructor(hooks: ToolCallHooks) {
    this.#hooks = hooks;
  }

  get stats(): ToolCallStats {
    return { ...this.#counts };
  }

  /** Follows one acquisition. */
  watch(identity: ToolCallIdentity): AcquisitionWatch {
    return new AcquisitionWatch(this, identity);
  }

  count(name: keyof Counts): void {
    this.#counts[name] += 1;
  }

  fired({ record, fencingToken }: HeldClaim): void {
    this.count("fired");
    tell(this.#hooks.onFire, { ...callOf(record), fencing_token: fencingToken });
  }

  replayed(record: ToolCallRecord, status: "completed" | "failed"): void {
    this.count("replayed");
    tell(this.#hooks.onReplay, { ...callOf(record), status });
  }

  conflict(record: ToolCallRecord): void {
    this.count("conflicts");
    tell(this.#hooks.onConflict, callOf(record));
  }

  lapsed(record: ToolCallRecord): void {
    this.count("lapses");
    tell(this.#hooks.onLapse, { ...callOf(record), owner: record.owner });
  }

  /** A late holder's outcome was refused. */
  fenced(): void {
    this.count("fenced");
  }
}

/** What one acquisition meets. */
export class AcquisitionWatch {
  readonly #observer: Observer;
  readonly #key: string;
  #waited = false;
  #lapsedRevision = 0;

  constructor(observer: Observer, identity: ToolCallIdentity) {
    this.#observer = observer;
    this.#key = identity.key;
  }

  heard(event: AcquisitionEvent): void {
    const seen = event.event === "read" ? event.seen : event.event === "refused" ? event.current : undefined;
    if (seen === undefined || seen.record.key !== this.#key || !isLapse(seen)) return;
    // One that only waits reads the same lapse again and again.
    if (seen.revision === this.#lapsedRevision) return;
    this.#lapsedRevision = seen.revision;
    this.#observer.lapsed(seen.record);
  }

  waits(): void {
    if (!this.#waited) this.#observer.count("waits");
    this.#waited = true;
  }

  answered({ answer, seen: { record } }: CallAnswer): void {
    switch (answer) {
      case "completed":
      case "failed":
        this.#observer.replayed(record, answer);
        break;
      case "conflict":
        this.#observer.conflict(record);
        break;
      case "needs_review":
        this.#observer.count("reviews");
        break;
      case "parked":
      case "in_flight":
        break;
    }
  }
}

function isLapse(seen: SeenRecord): boolean {
  return seen.record.status === "pending" && holdLeftMs(seen) === 0;
}

function callOf({ tool, key, attempt }: ToolCallRecord): ObservedCall {
  return { tool, key, attempt };
}

/** A fault in a trace must not become the fault of a call, nor, where the hook is async, of the process. */
function tell<Event>(hook: ((event: Event) => unknown) | undefined, event: Event): void {
  try {
    Promise.resolve(hook?.(event)).catch(() => {});
  } catch {
    // Dropped, as the hooks' description says.
  }
}
