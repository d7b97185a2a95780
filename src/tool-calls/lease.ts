import type { Clock } from "../base/clock.js";
import { prolonged, type ValidClaim, type WriteEvent } from "./acquisition-decisions.js";
import { ClaimLostError, claimTaken } from "./errors.js";
import type { RenewedElsewhere } from "./renewal-thread.js";

/** What a lease needs from its surroundings. */
export interface LeaseOptions {
  readonly clock: Clock;
  /** Seconds that the tool may run; beyond that the claim is no longer renewed. */
  readonly maxRunTime: number;
  /** Sends one renewal. Never rejects. */
  readonly renew: (claim: ValidClaim) => Promise<WriteEvent>;
  /** The caller's, which the tool's follows; the claim is kept until the tool has ended. */
  readonly callerSignal: AbortSignal | undefined;
  /** The same claim as it is renewed from another thread, which this event loop cannot hold up. */
  readonly elsewhere: RenewedElsewhere | undefined;
  /** Called once, when the lease ends. */
  readonly onEnd: () => void;
}

/**
 * Keeps a claim alive while its tool runs: a renewal at every third of the hold, so that two may fail before it lapses.
 *
 * The tool's signal aborts as soon as the claim is not surely held: a renewal was refused, none was acknowledged in time,
 * or the tool has run for too long. Renewals go on after the first two are not the case any more; the signal stays
 * aborted. None of its timers keeps the process alive. A claim that is renewed elsewhere, too, is renewed here only when it
 * was not renewed there.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #abort = new AbortController();
  #claim: ValidClaim;
  #renewing: Promise<void> | undefined;
  #state: "running" | "over its time" | "ended" = "running";
  #cancelRenewal: () => void;
  #cancelLapse: () => void;
  readonly #cancelRunTime: () => void;
  #onOverdue: (() => void) | undefined;
  #lost: ClaimLostError | undefined;

  /** Begins at once: `claim` is valid now. */
  constructor(claim: ValidClaim, options: LeaseOptions) {
    this.#claim = claim;
    this.#options = options;
    const { clock, maxRunTime } = options;
    this.#cancelRunTime = clock.setTimer(maxRunTime * 1000, () => this.#runTimeOver());
    this.#cancelRenewal = this.#armRenewal(this.#untilThird());
    this.#cancelLapse = this.#armLapse();
    options.callerSignal?.addEventListener("abort", this.#followCaller);
    if (options.callerSignal?.aborted) this.#followCaller();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the claim surely holds at this instant. An effect is safe to begin only while it does. */
  isValid(): boolean {
    return this.#state === "running" && this.#options.clock.monotonicNow() < this.#validUntil;
  }

  /** Calls back when the tool has run for too long and its claim has lapsed for want of renewal. */
  onOverdue(callback: () => void): void {
    this.#onOverdue = callback;
  }

  /**
   * Renews now, or joins the renewal that is under way.
   *
   * @throws ClaimLostError when the claim is not held any more, or the store gave no answer
   */
  async renew(): Promise<void> {
    // Sent all the same, it would keep a claim that must end alive.
    if (this.#state !== "running") throw this.#lost ?? this.#lose("it is not held any more");
    this.#renewing ??= this.#renewOnce();
    await this.#renewing;
    if (this.isValid()) return;
    throw this.#lost ?? this.#lose("it could not be renewed");
  }

  /** Nobody will renew the claim any more: a tool that still runs must not begin its effect. */
  abandon(reason: string): void {
    this.#lost ??= this.#lose(reason);
    this.end();
    this.#abort.abort(this.#lost);
  }

  /** The tool has ended, or its claim is of no use any more. */
  end(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#cancelRenewal();
    this.#cancelLapse();
    this.#cancelRunTime();
    this.#options.elsewhere?.end();
    this.#options.callerSignal?.removeEventListener("abort", this.#followCaller);
    this.#options.onEnd();
  }

  readonly #followCaller = (): void => this.#abort.abort(this.#options.callerSignal?.reason);

  async #renewOnce(): Promise<void> {
    const { clock, renew } = this.#options;
    const sentAt = clock.monotonicNow();
    const event = await renew(this.#claim);
    this.#renewing = undefined;
    if (this.#state !== "running") return;
    if (event.event === "refused") {
      this.end();
      this.#lost = claimTaken(this.#claim.record.key, event.current?.record);
      this.#abort.abort(this.#lost);
      return;
    }
    this.#cancelRenewal();
    if (event.event === "written") {
      this.#claim = prolonged(this.#claim, sentAt);
      this.#cancelLapse();
      this.#cancelLapse = this.#armLapse();
      this.#cancelRenewal = this.#armRenewal(this.#untilThird());
    } else {
      // Sooner than usual, so that several tries fit into what is left of the hold.
      this.#cancelRenewal = this.#armRenewal(this.#holdMs / 9);
    }
  }

  #armRenewal(delayMs: number): () => void {
    return this.#options.clock.setTimer(delayMs, () => {
      const untilThird = this.#untilThird();
      if (this.#options.elsewhere !== undefined && untilThird > 0) this.#cancelRenewal = this.#armRenewal(untilThird);
      else this.#renewing ??= this.#renewOnce();
    });
  }

  /** Counted from when the claim was sent, not from when its answer came. */
  #untilThird(): number {
    return this.#validUntil - (2 / 3) * this.#holdMs - this.#options.clock.monotonicNow();
  }

  /** The hold may end while a renewal is under way that nobody answers. */
  #armLapse(): () => void {
    const leftMs = this.#validUntil - this.#options.clock.monotonicNow();
    if (leftMs <= 0) return () => {};
    return this.#options.clock.setTimer(leftMs, () => {
      if (this.isValid()) this.#cancelLapse = this.#armLapse();
      else this.#abort.abort(this.#lose("it could not be renewed in time"));
    });
  }

  #runTimeOver(): void {
    const { clock, maxRunTime } = this.#options;
    this.#state = "over its time";
    this.#cancelRenewal();
    this.#cancelLapse();
    this.#options.elsewhere?.end();
    this.#lost = this.#lose(`the tool has run for ${maxRunTime} seconds`);
    this.#abort.abort(this.#lost);
    // Until the claim lapses nobody else can have begun, and the tool may yet end.
    const leftMs = Math.max(0, this.#validUntil - clock.monotonicNow());
    this.#cancelLapse = clock.setTimer(leftMs, () => {
      this.end();
      this.#onOverdue?.();
    });
  }

  /** Monotonic milliseconds, by all renewals that were acknowledged. */
  get #validUntil(): number {
    return Math.max(this.#claim.validUntil, this.#options.elsewhere?.validUntil() ?? 0);
  }

  get #holdMs(): number {
    return this.#claim.timing.pendingTtl * 1000;
  }

  #lose(reason: string): ClaimLostError {
    return new ClaimLostError(this.#claim.record.key, reason, undefined);
  }
}
