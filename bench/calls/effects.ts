import { isDeepStrictEqual } from "node:util";
import type { JsonValue } from "../../src/documents/contract.js";
import type { ToolCallOutcome, ToolCallRequest } from "../../src/tool-calls/index.js";
import { WrongResultError } from "../checks.js";

/** The call with this number: one mail about one order. Its key is derived, so the hashing is part of what it costs. */
export function mailCall(number: number): ToolCallRequest<JsonValue> {
  return { tool: "send_email", args: { order: number, user: "U", subject: "Your order has been shipped" } };
}

/** What the effect of that call returns. */
export function mailResult(number: number): JsonValue {
  return { message_id: `message-${number}`, accepted: true };
}

/** The effects of a round: what a tool does to the world, reduced to being counted. */
export class Effects {
  readonly #times = new Map<number, number>();

  /** The tool of the call with this number. */
  tool(number: number): () => JsonValue {
    return () => {
      this.#times.set(number, (this.#times.get(number) ?? 0) + 1);
      return mailResult(number);
    };
  }

  /** Throws unless each call had one effect, and counts anew. */
  checkOnce(numbers: readonly number[]): void {
    for (const number of numbers) {
      const times = this.#times.get(number) ?? 0;
      if (times !== 1) throw new WrongResultError(`call ${number} had ${times} effects in place of one`);
    }
    if (this.#times.size !== numbers.length) throw new WrongResultError("a call that was not made had an effect");
    this.#times.clear();
  }
}

/** The tool of a call that must not fire. */
export function mustNotFire(): never {
  throw new WrongResultError("a call that was claimed or completed before has fired again");
}

/** Throws unless the outcome is that of the call, as fresh or as replayed as it must be. */
export function checkOutcome(
  { result, was_replay, attempt, persisted }: ToolCallOutcome<unknown>,
  expected: { readonly number: number; readonly wasReplay: boolean },
): void {
  const { number, wasReplay } = expected;
  if (was_replay === wasReplay && attempt === 1 && persisted && isDeepStrictEqual(result, mailResult(number))) return;
  const answer = JSON.stringify({ result, was_replay, attempt, persisted });
  throw new WrongResultError(`call ${number} must be ${wasReplay ? "a replay" : "fresh"}, but its answer is ${answer}`);
}
