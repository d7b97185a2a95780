import type { Clock } from "../base/clock.js";
import type { Limits } from "../base/limits.js";
import {
  type Acquisition,
  type AcquisitionAction,
  type AcquisitionEvent,
  beginAcquisition,
  type CallAnswer,
  type StepContext,
  stepAcquisition,
  type ValidClaim,
} from "./acquisition-decisions.js";
import type { Background } from "./background.js";
import type { Lease } from "./lease.js";
import type { Observer } from "./observer.js";
import type { RecordStore } from "./record-store.js";
import type { RemoteClaimant } from "./remote-claimant.js";
import type { RenewalThread } from "./renewal-thread.js";
import type { PreparedCall } from "./request.js";
import type { ResultKeeping } from "./result-keeping.js";

/** What calls share. */
export interface CallContext {
  readonly records: RecordStore;
  readonly results: ResultKeeping;
  readonly background: Background;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly owner: string;
  readonly newClaimId: () => string;
  /** Renews claims beside this event loop; undefined: nobody does. */
  readonly renewalThread: RenewalThread | undefined;
  /** The leases of tools that run now. */
  readonly leases: Set<Lease>;
  readonly observer: Observer;
}

/** What one acquisition may do. */
export interface AcquisitionBounds {
  /** Monotonic milliseconds until which to wait for somebody else's claim. */
  readonly waitUntil: number;
  /** Whether to claim a look-up where there is a doubt. */
  readonly canLookUp: boolean;
  /** For whom the claim is made, when that is not this process. */
  readonly remote?: RemoteClaimant | undefined;
}

/** What became of the claim: what `enter` made of it, or the record's answer. */
export type Acquired<T> =
  | { readonly entered: true; readonly value: T }
  | { readonly entered: false; readonly answer: CallAnswer };

/**
 * Carries out what the machine of `acquisition-decisions.ts` asks for, until it may enter or has an answer.
 *
 * @param enter called with a claim that is valid at that instant, nothing having been awaited since that was judged
 * @throws what the store throws when the claim cannot be had for sure, the reason of the caller's signal, and what `enter`
 * throws
 */
export async function acquire<T>(
  context: CallContext,
  call: PreparedCall,
  bounds: AcquisitionBounds,
  enter: (claim: ValidClaim) => T,
): Promise<Acquired<T>> {
  const { signal, identity, settings, extra } = call;
  signal?.throwIfAborted();
  const { owner, background, observer } = context;
  const acquisition: Acquisition = { identity, timing: settings.timing, owner, extra, ...bounds };
  const watching = observer.watch(identity);
  let lastWrite: Promise<unknown> = Promise.resolve();
  let [state, action] = beginAcquisition(acquisition, stepContext(context));
  for (;;) {
    switch (action.action) {
      case "enter":
        return { entered: true, value: enter(action.claim) };
      case "answer":
        background.abandon(identity.key, action.abandon, lastWrite);
        watching.answered(action.answer);
        return { entered: false, answer: action.answer };
      case "reject":
        background.abandon(identity.key, action.abandon, lastWrite);
        throw action.error;
    }
    if (action.action === "wait") watching.waits();
    const happening = carryOut(context, identity.key, action, signal);
    if (action.action === "write") lastWrite = happening;
    const event = await orAborted(happening, signal);
    watching.heard(event);
    [state, action] = stepAcquisition(state, event, stepContext(context));
  }
}

/** Never rejects. */
async function carryOut(
  { records }: CallContext,
  key: string,
  action: Extract<AcquisitionAction, { action: "write" | "read" | "wait" }>,
  signal: AbortSignal | undefined,
): Promise<AcquisitionEvent> {
  if (action.action === "write") return records.write(key, action.write);
  try {
    const { after, timeoutMs } = action.action === "wait" ? action : { after: undefined, timeoutMs: 0 };
    const seen =
      after === undefined ? await records.read(key) : await records.waitFor(key, { after, timeoutMs, signal });
    return { event: "read", seen };
  } catch (error) {
    return { event: "read_failed", error };
  }
}

/** The event, or that the caller has given up by then: an answer that nobody waits for any more is left alone. */
function orAborted(happening: Promise<AcquisitionEvent>, signal: AbortSignal | undefined): Promise<AcquisitionEvent> {
  if (signal === undefined) return happening;
  return new Promise((resolve) => {
    const end = (event: AcquisitionEvent): void => {
      signal.removeEventListener("abort", abort);
      resolve(signal.aborted ? { event: "aborted", reason: signal.reason } : event);
    };
    const abort = (): void => end({ event: "aborted", reason: signal.reason });
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort);
    void happening.then(end);
  });
}

function stepContext({ clock, newClaimId, background }: CallContext): StepContext {
  return {
    now: clock.monotonicNow(),
    claimId: newClaimId(),
    at: isoNow(clock),
    abandoned: background.isAbandoned,
  };
}

/** The wall clock, for people: ISO 8601, UTC. */
export function isoNow(clock: Clock): string {
  return new Date(clock.wallNow()).toISOString();
}
