import type { ToolCall } from "../tool-calls/holding.js";
import { type AnswerClass, AnswerNotStored, classOfAnswer } from "./answer-class.js";
import type { IdempotencySettings } from "./options.js";
import { encodeAnswer, type KeptAnswer, type StoredAnswer } from "./stored-answer.js";

/**
 * What a handler is given: the claim under which it runs. It is held until the handler has answered, whether the client is
 * still there or not. `headers` are for what the handler sends on: `idempotentFetch(request.idempotency, ...)`.
 */
export interface IdempotentCall
  extends Pick<ToolCall, "key" | "attempt" | "fencingToken" | "headers" | "signal" | "history" | "isValid" | "fired"> {
  /** The key as the client sent it; `key` names the record, with the caller in front. */
  readonly idempotencyKey: string;
}

/** What is to be sent once the answer has been put away. */
export type AnswerFate =
  /** The handler's answer: its outcome is written down, or it is none. */
  | { readonly kind: "send" }
  /** The same, but whether it is stored is not known: the store gave no answer, and is asked again in the background. */
  | { readonly kind: "send unsure" }
  /** It does not count: something else stands in the record, or the record cannot be written. */
  | { readonly kind: "lost"; readonly error: unknown };

/** A request whose handler runs: the tool's side and the framework's side of one call. */
export class HeldRequest {
  readonly call: IdempotentCall;
  /** For the tool: what the call comes to. */
  readonly outcome: Promise<StoredAnswer>;
  readonly #settings: Pick<IdempotencySettings<never>, "classify" | "marks">;
  #resolve: (answer: StoredAnswer) => void = () => {};
  #reject: (reason: AnswerNotStored) => void = () => {};
  /** The handler has said that its effect comes next. */
  #announced = false;
  /** It was told not to begin its effect. */
  #forbidden = false;
  #answered = false;
  readonly #fate: Promise<AnswerFate>;
  #conclude: (fate: AnswerFate) => void = () => {};

  constructor(
    call: ToolCall,
    idempotencyKey: string,
    settings: Pick<IdempotencySettings<never>, "classify" | "marks">,
  ) {
    this.#settings = settings;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#fate = new Promise((resolve) => {
      this.#conclude = resolve;
    });
    const { key, attempt, fencingToken, headers, signal, history, isValid } = call;
    const fired = async (): Promise<void> => {
      const before = this.#announced;
      // From the first moment: a handler that does not wait may be at its effect.
      this.#announced = true;
      try {
        await call.fired();
      } catch (error) {
        this.#announced = before;
        this.#forbidden = true;
        throw error;
      }
    };
    this.call = { idempotencyKey, key, attempt, fencingToken, headers, signal, history, isValid, fired };
  }

  /** The handler has answered. Resolves when that is written down, or cannot be; the first answer counts. */
  answer(answer: KeptAnswer): Promise<AnswerFate> {
    if (this.#answered) return this.#fate;
    this.#answered = true;
    switch (this.#classOf(answer)) {
      case "stored":
        this.#resolve(encodeAnswer(answer));
        break;
      case "released":
        this.#reject(new AnswerNotStored(`the handler answered ${answer.status}`, "retryable"));
        break;
      case "unknown":
        this.#reject(new AnswerNotStored(`the handler answered ${answer.status}`, "unknown"));
    }
    return this.#fate;
  }

  /** No answer will come from the handler, or none that can be seen. Whether it has acted is not known. */
  cut(reason: string, details: { readonly cause?: unknown } = {}): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#reject(new AnswerNotStored(reason, this.#isProvablyUnfired ? "retryable" : "unknown", details));
  }

  get #isProvablyUnfired(): boolean {
    return this.#settings.marks && !this.#announced;
  }

  /** A framework takes the status of an error from the error: what `fired` has thrown is no refusal of the request. */
  #classOf(answer: KeptAnswer): AnswerClass {
    if (!this.#forbidden || answer.status < 400) {
      return classOfAnswer(answer, this.#settings.classify, this.#isProvablyUnfired);
    }
    return this.#isProvablyUnfired ? "released" : "unknown";
  }

  /** The call has come to its end. */
  settled(persisted: boolean): void {
    this.#conclude({ kind: persisted ? "send" : "send unsure" });
  }

  /** The same, with what it rejected with. */
  rejected(error: unknown): void {
    // Its own word comes back: that was written down.
    if (error instanceof AnswerNotStored) this.#conclude({ kind: "send" });
    else this.#conclude({ kind: "lost", error });
  }
}
