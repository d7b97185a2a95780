import { InvalidRequestError } from "../base/errors.js";
import type { JsonValue } from "../documents/contract.js";
import { type CallContext, isoNow } from "./acquiring.js";
import type { ValidClaim } from "./acquisition-decisions.js";
import { CallParkedError, ClaimLostError, claimTaken } from "./errors.js";
import { headerKeyOf } from "./keys.js";
import { Lease } from "./lease.js";
import { checkReason } from "./park-reason.js";
import type { HistoryEntry } from "./record.js";
import type { PreparedCall } from "./request.js";
import { type Settled, settle } from "./settling.js";
import type { HeldClaim, RecordPut } from "./transition-types.js";
import { markFired, park, renew } from "./transitions.js";

/** What a tool is given: the call it is entered for. */
export interface ToolCall<A = JsonValue> {
  readonly tool: string;
  /** A copy of the arguments. */
  readonly args: A;
  /** The whole key. Whatever the tool calls should get it, so that its effect is one as well. */
  readonly key: string;
  /** 1 for the first claim of this key within its window. */
  readonly attempt: number;
  /** The revision of the claim: whoever accepts only growing ones is safe from a late holder. */
  readonly fencingToken: number;
  /** `Idempotency-Key` for a request: the key, or a hash of it when it is longer than 255 characters or not all ASCII. */
  readonly headers: { readonly "Idempotency-Key": string };
  /** Aborts when the claim is not surely held any more, when the tool has run for too long, and when the caller gives up. */
  readonly signal: AbortSignal;
  /** What operators decided about this call, oldest first. */
  readonly history: readonly HistoryEntry[];
  /** The approval of these very arguments, if the call was parked and `approve` let it go on. */
  readonly approval: HistoryEntry | undefined;
  /** Whether the claim surely holds at this instant: to be asked right before an effect that comes late in a long tool. */
  isValid(): boolean;
  /**
   * Says that the effect comes next: begin it only when this has resolved, and then at once. A tool that was declared with
   * `marks` has the moment written down; for all others the claim is renewed if it is not surely held.
   *
   * @throws ClaimLostError when the claim is not held any more, and what the store throws when it gives no answer: the
   * effect must not happen then
   */
  fired(): Promise<void>;
  /**
   * Sets the call aside before its effect, for an approval, say: `return call.park("waits for Ann")`. The record is
   * `parked`, `run` rejects with `CallParkedError`, and the next `run` with the same arguments enters the tool again.
   *
   * @param reason JSON, for people
   * @throws CallParkedError; InvalidRequestError after `fired`; ClaimLostError
   */
  park(reason: unknown): Promise<never>;
}

/** What a lease owes to the work that it is for. */
export interface LeaseTerms {
  /** Seconds that the holder may work; beyond that the claim is no longer renewed. */
  readonly maxRunTime: number;
  /** The caller's, which the holder's follows. */
  readonly signal: AbortSignal | undefined;
}

/** Keeps a claim for as long as it is worked under. */
export function holdLease(context: CallContext, claim: ValidClaim, terms: LeaseTerms): Lease {
  const { records, clock, leases } = context;
  const lease: Lease = new Lease(claim, {
    clock,
    maxRunTime: terms.maxRunTime,
    callerSignal: terms.signal,
    elsewhere: context.renewalThread?.hold(claim, terms.maxRunTime),
    renew: (held) => records.write(claim.record.key, renew(held, isoNow(clock))),
    onEnd: () => leases.delete(lease),
  });
  leases.add(lease);
  return lease;
}

/** Tries of the mark before its tool is told that the store gives no answer. Each has already been repeated on its way. */
const markTriesMax = 3;

/** A claim while it is worked under: its lease, the mark of its effect, and the one write that ends it. */
export class Holding {
  readonly lease: Lease;
  readonly #context: CallContext;
  readonly #call: PreparedCall;
  /** As the record stands: the mark is set in it once that is known to be written. */
  #claim: HeldClaim;
  #state: "held" | "parked" | "settled" = "held";
  #parking: Promise<never> | undefined;
  #marking: Promise<void> | undefined;
  /** Whether `fired` has resolved: the tool may have had its effect since. */
  #announced = false;
  /** What `fired` rejected with: the tool was told not to go on. */
  readonly #forbidden = new Set<unknown>();

  constructor(context: CallContext, call: PreparedCall, claim: ValidClaim) {
    this.#context = context;
    this.#call = call;
    this.#claim = claim;
    this.lease = holdLease(context, claim, { maxRunTime: call.settings.maxRunTime, signal: call.signal });
  }

  get claim(): HeldClaim {
    return this.#claim;
  }

  /** What `park` rejects with; undefined: the call was not parked. */
  get parking(): Promise<never> | undefined {
    return this.#parking;
  }

  /** Whether a tool that marks ended with what `fired` told it, so that it did not go on to its effect. */
  endedBeforeEffect(thrown: unknown): boolean {
    return this.#claim.record.marks && !this.#announced && this.#forbidden.has(thrown);
  }

  /** The call, as the tool sees it. */
  toolCall(): ToolCall {
    const { identity, args } = this.#call;
    const { record, fencingToken } = this.#claim;
    const history = record.history as unknown as readonly HistoryEntry[];
    return {
      tool: identity.tool,
      args,
      key: identity.key,
      attempt: record.attempt,
      fencingToken,
      headers: { "Idempotency-Key": headerKeyOf(identity.key) },
      signal: this.lease.signal,
      history,
      approval: approvalIn(history, record.fingerprint),
      isValid: () => this.lease.isValid(),
      fired: () => this.fired(),
      park: (reason) => this.park(reason),
    };
  }

  async fired(): Promise<void> {
    try {
      this.#marking ??= this.#mark();
      await this.#marking;
      await this.#ensureValid();
    } catch (error) {
      this.#forbidden.add(error);
      throw error;
    }
    this.#announced = true;
  }

  park(reason: unknown): Promise<never> {
    // Also when the mark was set before the tool was entered, since the record asks for one and this tool sets none.
    if (this.#marking !== undefined || this.#claim.record.fired_at !== null) {
      return Promise.reject(new InvalidRequestError("", "a call cannot be parked once it has announced its effect"));
    }
    if (this.#parking === undefined) {
      let stored: JsonValue;
      try {
        stored = checkReason(reason, this.#context.limits);
      } catch (error) {
        return Promise.reject(error);
      }
      this.#parking = this.#park(stored);
    }
    // The run hears of it, whether the tool awaits it or not.
    this.#parking.catch(() => {});
    return this.#parking;
  }

  /**
   * Ends the claim with its outcome.
   *
   * @param cause what the tool threw, kept as the cause if the claim is lost
   * @throws ClaimLostError when the outcome was refused
   */
  settle(write: RecordPut, cause?: unknown): Promise<Settled> {
    if (this.#state !== "held") {
      const { key } = this.#call.identity;
      return Promise.reject(
        new InvalidRequestError("", `the claim on ${JSON.stringify(key)} was ${this.#state} before`),
      );
    }
    this.#state = "settled";
    this.lease.end();
    return settle(this.#context, write, this.#claim.timing, cause === undefined ? {} : { cause });
  }

  async #mark(): Promise<void> {
    const { record } = this.#claim;
    if (!record.marks || record.fired_at !== null || this.#state !== "held") return;
    const { clock, records } = this.#context;
    for (let tries = 1; ; tries++) {
      const at = isoNow(clock);
      const event = await records.write(record.key, markFired(this.#claim, at));
      switch (event.event) {
        case "written":
          this.#claim = { ...this.#claim, record: { ...record, fired_at: at } };
          return;
        case "refused":
          throw claimTaken(record.key, event.current?.record);
        case "unanswered":
          if (event.fault !== "store" || tries >= markTriesMax || !this.lease.isValid()) throw event.error;
      }
    }
  }

  /** The mark may have taken longer than the claim held. */
  async #ensureValid(): Promise<void> {
    if (this.#state !== "held") {
      throw new ClaimLostError(this.#call.identity.key, `it was ${this.#state} before`, undefined);
    }
    if (!this.lease.isValid()) await this.lease.renew();
  }

  async #park(reason: JsonValue): Promise<never> {
    const write = park(this.#claim, reason);
    this.#state = "parked";
    this.lease.end();
    await settle(this.#context, write, this.#claim.timing);
    throw new CallParkedError(write.set);
  }
}

/** The last decision of an operator, if it is the approval of these arguments. That nothing was done is no approval. */
export function approvalIn(history: readonly HistoryEntry[], fingerprint: string): HistoryEntry | undefined {
  const last = history.at(-1);
  return last?.approved === true && last.fingerprint === fingerprint ? last : undefined;
}
