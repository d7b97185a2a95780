import { InvalidRequestError } from "../base/errors.js";
import type { JsonValue } from "../documents/contract.js";
import { checkWriteId } from "../documents/names.js";
import { acquire, type CallContext, isoNow } from "./acquiring.js";
import type { ValidClaim } from "./acquisition-decisions.js";
import { answerCaller } from "./answers.js";
import type { NotClaimed } from "./claim.js";
import { encodeError } from "./error-codec.js";
import { claimTaken } from "./errors.js";
import { approvalIn } from "./holding.js";
import { headerKeyOf } from "./keys.js";
import { checkReason } from "./park-reason.js";
import type { HistoryEntry, ToolCallRecord, ToolCallStatus } from "./record.js";
import { decideHeld, type HeldAction } from "./remote-holding.js";
import type { PreparedCall, ToolCallRequest } from "./request.js";
import { outcomeOf, type ToolCallOutcome } from "./result.js";
import { writeWhatFits } from "./settling.js";
import type { CallTiming, HeldClaim } from "./transition-types.js";

/** Who claims for itself elsewhere. */
export interface RemoteClaimantName {
  /** For people. */
  readonly owner: string;
  /** 1 to 255 characters, fresh for every claim and the same when the request is repeated; undefined: one is made up. */
  readonly claimId: string | undefined;
}

/** A claim that holds, as its holder is told. */
export interface HeldFor {
  readonly claim_id: string;
  readonly key: string;
  readonly attempt: number;
  /** The revision of the claim. */
  readonly fencing_token: number;
  /** Seconds after its last renewal at which the claim lapses. */
  readonly hold: number;
  /** Seconds for which the claim surely holds, counted from the moment at which the holder sent this very request. */
  readonly valid_for: number;
}

/** What a claimant gets that is to carry the call out. */
export interface RemoteClaim extends HeldFor {
  readonly claimed: true;
  readonly headers: { readonly "Idempotency-Key": string };
  readonly history: readonly HistoryEntry[];
  readonly approval?: HistoryEntry;
  /** An earlier request with this claim id had made the claim, and its answer was lost. */
  readonly recognised?: true;
}

/** What the record is once a claim has ended without a result. */
export interface EndedClaim {
  readonly key: string;
  readonly status: ToolCallStatus;
  readonly attempt: number;
}

/** What the holder says about its claim. Errors may be texts or objects with `message`, `name`, `code` and the like. */
export type HolderRequest =
  | { readonly action: "renew" | "fired" }
  | { readonly action: "fail" | "unknown"; readonly error: JsonValue }
  | { readonly action: "release"; readonly error?: JsonValue | undefined }
  | { readonly action: "park"; readonly reason: JsonValue };

/** What the claims of others need from the calls that they belong to. */
interface RemoteClaimsParts {
  readonly context: CallContext;
  readonly timing: CallTiming;
  readonly prepare: (request: ToolCallRequest) => PreparedCall;
  readonly track: <T>(begin: () => Promise<T>) => Promise<T>;
}

/**
 * Claims of callers that have no store of their own and speak through this process. It keeps nothing about them: they renew
 * and settle their claims by key and claim id, through any process that has the same store.
 */
export class RemoteClaims {
  readonly #parts: RemoteClaimsParts;

  constructor(parts: RemoteClaimsParts) {
    this.#parts = parts;
  }

  /**
   * Claims a call for the claimant to carry out, or waits for and replays what another claim came to.
   *
   * @throws as `ToolCalls.run`; ClaimLostError when the claim id is that of a claim which has ended
   */
  claim(request: ToolCallRequest, { owner, claimId }: RemoteClaimantName): Promise<RemoteClaim | NotClaimed> {
    const { context, prepare, track } = this.#parts;
    return track(async () => {
      const { clock, limits, observer } = context;
      const begunAt = clock.monotonicNow();
      const call = prepare(request);
      const remote = { claimId: claimId === undefined ? undefined : checkWriteId(claimId, "claim_id", limits) };
      const waitUntil = begunAt + call.settings.waitTimeout * 1000;
      const bounds = { waitUntil, canLookUp: false, remote };
      const acquired = await acquire({ ...context, owner }, call, bounds, (claim) => claim);
      if (!acquired.entered) {
        return { claimed: false, ...(await answerCaller(context, acquired.answer, call.identity.fingerprint)) };
      }
      const claim = acquired.value;
      // The request before was counted.
      if (claim.recognised !== true) observer.fired(claim);
      return remoteClaim(claim, begunAt);
    });
  }

  /** Renews the claim, or announces its effect. @throws ClaimLostError, and what the store throws */
  hold(key: string, claimId: string, action: "renew" | "fired"): Promise<HeldFor> {
    return this.#parts.track(async () => {
      const begunAt = this.#parts.context.clock.monotonicNow();
      const { record, held, sentAt } = await this.#carryOut(key, claimId, { action });
      if (held === undefined) throw claimTaken(key, record);
      return heldFor(held, sentAt - begunAt);
    });
  }

  /**
   * Done, with this result.
   *
   * @throws ClaimLostError, also when the claim has ended with another result; what the store throws: repeat the request then
   */
  complete(key: string, claimId: string, result: unknown): Promise<ToolCallOutcome<unknown>> {
    return this.#parts.track(async () => {
      const { context, timing } = this.#parts;
      const { records, results } = context;
      const found = await records.read(key);
      const window = found?.record.window ?? timing.completedTtl;
      const kept = await results.keep(result, found?.record.tool ?? "", window);
      const { record } = await this.#carryOut(key, claimId, { action: "complete", result: kept.stored });
      const { result_ref: ref } = record;
      // A repeated request may find what the one before it has put beside the record.
      const beside = ref === undefined ? undefined : await results.load(ref);
      return outcomeOf(record, { was_replay: false, persisted: true, live: kept.live, beside });
    });
  }

  /**
   * Ends the claim without a result.
   *
   * @throws ClaimLostError, InvalidRequestError for a call that is to be parked after its effect was announced, and what
   * the store throws: repeat the request then
   */
  end(
    key: string,
    claimId: string,
    request: Exclude<HolderRequest, { action: "renew" | "fired" }>,
  ): Promise<EndedClaim> {
    return this.#parts.track(async () => {
      const { record } = await this.#carryOut(key, claimId, this.#actionOf(request));
      return { key, status: record.status, attempt: record.attempt };
    });
  }

  #actionOf(request: Exclude<HolderRequest, { action: "renew" | "fired" }>): HeldAction {
    switch (request.action) {
      case "fail":
      case "unknown":
        return { action: request.action, error: storedError(request.error) };
      case "release":
        return { action: "release", error: request.error === undefined ? null : storedError(request.error) };
      case "park": {
        return { action: "park", reason: checkReason(request.reason, this.#parts.context.limits) };
      }
    }
  }

  /** `held` is absent when the record had been written by an earlier request already. */
  async #carryOut(
    key: string,
    claimId: string,
    action: HeldAction,
  ): Promise<{ readonly record: ToolCallRecord; readonly held?: HeldClaim; readonly sentAt: number }> {
    const { context, timing } = this.#parts;
    const { records, clock, observer } = context;
    let seen = await records.read(key);
    for (;;) {
      const decision = decideHeld(seen, claimId, action, isoNow(clock), timing);
      switch (decision.decision) {
        case "lost":
          if (action.action !== "renew" && action.action !== "fired") observer.fenced();
          throw claimTaken(key, decision.current);
        case "fired_before":
          throw new InvalidRequestError("", "a call cannot be parked once it has announced its effect");
        case "repeated":
          return { record: decision.record, sentAt: clock.monotonicNow() };
      }
      const sentAt = clock.monotonicNow();
      const { write, event } = await writeWhatFits(records, key, decision.write);
      if (event.event === "unanswered") throw event.error;
      if (event.event === "written") {
        return { record: write.op === "put" ? write.set : decision.held.record, held: decision.held, sentAt };
      }
      // Its condition names nothing but the claim, so that the record says now why it did not hold.
      seen = event.current;
    }
  }
}

function remoteClaim(claim: ValidClaim, begunAt: number): RemoteClaim {
  const { record } = claim;
  const history = record.history as unknown as readonly HistoryEntry[];
  const approval = approvalIn(history, record.fingerprint);
  return {
    claimed: true,
    ...heldFor(claim, claim.validUntil - claim.timing.pendingTtl * 1000 - begunAt),
    headers: { "Idempotency-Key": headerKeyOf(record.key) },
    history,
    ...(approval === undefined ? {} : { approval }),
    ...(claim.recognised === undefined ? {} : { recognised: true }),
  };
}

/**
 * The holder counts from the moment at which it sent its request, which was before the request came here. So what passed
 * here until the write was sent may be added, and how long anything travelled does not matter.
 *
 * @param delayMs from the arrival of the request until the write was sent
 */
function heldFor({ claimId, record, fencingToken, timing }: HeldClaim, delayMs: number): HeldFor {
  const hold = timing.pendingTtl;
  return {
    claim_id: claimId,
    key: record.key,
    attempt: record.attempt,
    fencing_token: fencingToken,
    hold,
    // Rounded down: it must not last longer here than in the store.
    valid_for: Math.floor(Math.max(0, delayMs) + hold * 1000) / 1000,
  };
}

function storedError(error: JsonValue): ReturnType<typeof encodeError> {
  return encodeError(typeof error === "string" ? { message: error } : error);
}
