import { InvalidRequestError } from "../base/errors.js";
import type { AnyShapes, DocumentStore, JsonValue } from "../documents/contract.js";
import { checkShape } from "../documents/names.js";
import { checkFunction, readMembers, shown } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import { fingerprintOf, keyOf } from "../tool-calls/keys.js";

/*
 * Asks before something much like a call of a moment ago is done again: a second mail to the same person within a minute,
 * under another intent. It is no second way to recognise duplicates. The calls are different ones, both may be meant, and
 * nothing here keeps either from firing: only the hook can, by throwing.
 *
 * A note of the last success is kept for each target, as a small document that expires by itself.
 */

/** A call that resembles one that succeeded a moment ago. */
export interface SimilarCall {
  readonly tool: string;
  readonly target: string;
  readonly args: JsonValue;
  /** The whole key of the call that is about to be made. */
  readonly key: string;
  /** What the framework or the caller gave with it: whom to ask. */
  readonly options: unknown;
  readonly earlier: {
    readonly key: string;
    /** When it was made: ISO 8601, UTC. */
    readonly called_at: string;
    /** Since it succeeded, by the store's clock. */
    readonly seconds_ago: number;
  };
}

export interface SimilarCallsOptions<Shapes = AnyShapes> {
  readonly store: DocumentStore<Shapes>;
  /** Seconds after a success in which another call to the same target is similar; 60 when absent. */
  readonly within?: number | undefined;
  /** Whom or what a call is about: the recipient, the account. undefined: it is not watched. */
  readonly targetOf: (args: never, tool: string) => string | undefined;
  /** Warns, asks, or tells. The call waits for it, and is not made when it throws. */
  readonly onSimilar: (similar: SimilarCall) => void | Promise<void>;
  /** The shape of the notes; "similar-call" when absent. */
  readonly shape?: string | undefined;
}

/** The same, judged. */
interface SimilarCallsSettings {
  readonly store: DocumentStore;
  readonly within: number;
  readonly targetOf: SimilarCallsOptions["targetOf"];
  readonly onSimilar: SimilarCallsOptions["onSimilar"];
  readonly shape: string;
}

/** A call as it is watched. */
export interface WatchedCall {
  readonly tool: string;
  readonly args: JsonValue;
  /** The whole key. */
  readonly key: string;
  readonly options: unknown;
  /** Whether this very intent was begun before: trying it again is no similar call. */
  readonly wasBegun: () => Promise<boolean>;
}

const optionMembers: ReadonlySet<string> = new Set(["store", "within", "targetOf", "onSimilar", "shape"]);

/** Watches for similar calls, for the option `similar` of `guardTools`. @throws InvalidRequestError */
export function similarCalls<Shapes = AnyShapes>(options: SimilarCallsOptions<Shapes>): SimilarCalls {
  readMembers(options, "", "the options", optionMembers);
  const { within = 60, targetOf, onSimilar, shape = "similar-call" } = options;
  // The notes have their own shape: how the others are typed does not matter here.
  const store = options.store as unknown as DocumentStore;
  const { ttlSecondsMin, ttlSecondsMax } = store.limits;
  if (typeof within !== "number" || !(within >= ttlSecondsMin && within <= ttlSecondsMax)) {
    throw new InvalidRequestError("within", `must be a number of seconds, not ${shown(within)}`);
  }
  checkFunction(targetOf ?? null, "targetOf");
  checkFunction(onSimilar ?? null, "onSimilar");
  return new SimilarCalls({ store, within, targetOf, onSimilar, shape: checkShape(shape, "shape") });
}

/** The watch of one store; `similarCalls` makes it. */
export class SimilarCalls {
  readonly #options: SimilarCallsSettings;

  constructor(options: SimilarCallsSettings) {
    this.#options = options;
  }

  /** Tells the hook if the call resembles one of a moment ago. @throws what `targetOf` and the hook throw */
  async ask(call: WatchedCall): Promise<void> {
    const target = this.#targetOf(call);
    if (target === undefined) return;
    const earlier = await this.#find(call, target);
    if (earlier === undefined) return;
    const { tool, args, key, options } = call;
    await this.#options.onSimilar({ tool, target, args, key, options, earlier });
  }

  /** Notes a success. A note that cannot be written is a warning less, and no fault of the call. */
  async note(call: WatchedCall, calledAt: string): Promise<void> {
    const { store, shape, within } = this.#options;
    try {
      const target = this.#targetOf(call);
      if (target === undefined) return;
      const set = { key: call.key, called_at: calledAt };
      await store.put({ shape, id: this.#idOf(call, target), set, ttl: within });
    } catch {}
  }

  /** Undefined also when the store gives no answer: the claim that comes next needs one, this question does not. */
  async #find(call: WatchedCall, target: string): Promise<SimilarCall["earlier"] | undefined> {
    const { store, shape } = this.#options;
    try {
      const note = await store.getDocument(shape, this.#idOf(call, target));
      if (note === undefined) return undefined;
      const { key, called_at } = note.fields;
      if (typeof key !== "string" || typeof called_at !== "string") return undefined;
      if (await call.wasBegun()) return undefined;
      const seconds_ago = (Date.parse(note.as_of) - Date.parse(note.updated_at)) / 1000;
      return { key, called_at, seconds_ago };
    } catch {
      return undefined;
    }
  }

  #targetOf({ args, tool }: WatchedCall): string | undefined {
    const target: unknown = this.#options.targetOf(structuredClone(args) as never, tool);
    if (target === undefined || typeof target === "string") return target;
    throw new InvalidRequestError("targetOf", `must make a string or undefined, not ${kindOf(target)}`);
  }

  /** A hash of the target, so that the notes name nobody. */
  #idOf({ tool }: WatchedCall, target: string): string {
    const fingerprint = fingerprintOf(target);
    return keyOf({ tool, scope: undefined, given: undefined, fingerprint }, this.#options.store.limits);
  }
}
