import type { ToolCallPolicy } from "../../src/tool-calls/index.js";

/*
 * The other side of the model's tool calls: it has the effects, knows what really happened, and notes every breach of what
 * the layer promises. It knows fires by their fencing tokens and asks nothing of the layer.
 */

/** A call's key, and what is asked for it: frozen for a whole run of the model. */
export interface Account {
  readonly key: string;
  readonly policy: ToolCallPolicy;
  readonly marks: boolean;
}

/** What an effect gives back, and what every replay of it must say. */
export type Receipt = { readonly key: string; readonly args: string; readonly token: number };

export interface Fire {
  readonly account: Account;
  readonly worker: string;
  readonly receipt: Receipt;
  readonly attempt: number;
  /** How many bindings of the key there were before this one. */
  readonly binding: number;
  /** `ready`: past its last look at the claim. */
  state: "entered" | "ready" | "over";
  /** Whether it may have had its effect, as far as it and true words about it have said. */
  open: boolean;
  hadEffect: boolean;
}

export class Bank {
  /** What must never happen and did. */
  readonly breaches: string[] = [];
  readonly #fires: Fire[] = [];
  readonly #lastFireAt = new Map<string, number>();
  readonly #forgotten = new Set<string>();
  /** The fencing tokens of stored results that callers were told, by the binding of the key. */
  readonly #told = new Map<string, number>();
  readonly #windowMs: number;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  get fireCount(): number {
    return this.#fires.length;
  }

  /** The tool is entered. */
  enter(account: Account, worker: string, args: string, token: number, attempt: number, now: number): Fire {
    const { key, policy } = account;
    const earlier = this.#fires.filter((each) => each.account.key === key);
    const last = earlier.at(-1);
    if (earlier.some((each) => each.receipt.token === token)) this.#breach(key, "two fires in one claim");
    if (last !== undefined && token < last.receipt.token) this.#breach(key, "a fire in a claim that was taken over");
    let binding = last?.binding ?? 0;
    if (last !== undefined && this.#mayBeUnbound(key, now)) {
      this.#forgotten.delete(key);
      binding += 1;
    } else if (last !== undefined) {
      if (attempt <= last.attempt) this.#breach(key, "the attempt does not grow");
      if (args !== last.receipt.args) this.#breach(key, "other arguments were fired under the key");
      if (policy !== "refire" && this.#current(key).some((each) => each.open)) {
        this.#breach(key, "a fire after a doubt that nobody has ended");
      }
    }
    const fire: Fire = {
      account,
      worker,
      receipt: { key, args, token },
      attempt,
      binding,
      state: "entered",
      open: !account.marks,
      hadEffect: false,
    };
    if (!account.marks) fire.state = "ready";
    this.#fires.push(fire);
    this.#lastFireAt.set(key, now);
    return fire;
  }

  /** The tool that marks is told to begin its effect. */
  begin(fire: Fire): void {
    fire.state = "ready";
    fire.open = true;
  }

  effect(fire: Fire): Receipt {
    const { key, policy } = fire.account;
    fire.hadEffect = true;
    const effects = this.#current(key).filter((each) => each.hadEffect);
    if (policy !== "refire" && effects.length > 1) this.#breach(key, "an effect too many");
    return fire.receipt;
  }

  /** The tool has ended. @param certainlyNot it has told the layer that there was no effect */
  end(fire: Fire, certainlyNot: boolean): void {
    fire.state = "over";
    if (certainlyNot) fire.open = false;
  }

  /** A worker is no more, and its tools with it. */
  bury(worker: string): void {
    for (const fire of this.#fires) if (fire.worker === worker) fire.state = "over";
  }

  /**
   * What can be said truly about the effect of a call: its receipt, that it can no longer happen, or nothing for sure. It is
   * asked for by its arguments, too: beyond the window, a late claim may have bound the key to others, which never fired.
   */
  say(key: string, args: unknown): Receipt | "not done" | "not known" {
    const current = this.#current(key).filter((each) => each.receipt.args === args);
    const effect = current.findLast((each) => each.hadEffect);
    if (effect !== undefined) return effect.receipt;
    if (this.#fires.some((each) => each.account.key === key && each.state === "ready")) return "not known";
    for (const fire of current) fire.open = false;
    return "not done";
  }

  /** Somebody asks to forget the key. @returns whether it was not forgotten before */
  mayForget(key: string): boolean {
    if (this.#forgotten.has(key)) return false;
    this.#forgotten.add(key);
    return true;
  }

  /** It was not forgotten. */
  remembers(key: string): void {
    this.#forgotten.delete(key);
  }

  /**
   * A caller was told this as the result of its call.
   *
   * @param isStored whether it was also told that the record says so: then every later caller must be told the same
   */
  judgeResult(key: string, args: string, result: unknown, isStored: boolean): void {
    const fire = this.#fires.find((each) => each.account.key === key && tokenOf(result) === each.receipt.token);
    if (fire === undefined || !fire.hadEffect) this.#breach(key, `a result of nothing: ${JSON.stringify(result)}`);
    else if (fire.receipt.args !== args) this.#breach(key, "the result of a call with other arguments");
    if (fire === undefined || !isStored) return;
    const binding = `${key} ${fire.binding}`;
    const { token } = fire.receipt;
    if ((this.#told.get(binding) ?? token) !== token) this.#breach(key, "two results of one call");
    this.#told.set(binding, token);
  }

  /** Whether the key may have been claimed as a new one since its last fire; late requests may have done that, too. */
  #mayBeUnbound(key: string, now: number): boolean {
    return this.#forgotten.has(key) || now >= (this.#lastFireAt.get(key) ?? 0) + this.#windowMs;
  }

  /** The fires of the call that the key is bound to now. */
  #current(key: string): Fire[] {
    const fires = this.#fires.filter((each) => each.account.key === key);
    const binding = fires.at(-1)?.binding;
    return fires.filter((each) => each.binding === binding);
  }

  #breach(key: string, what: string): void {
    this.breaches.push(`${key}: ${what}`);
  }
}

function tokenOf(result: unknown): unknown {
  return typeof result === "object" && result !== null ? Reflect.get(result, "token") : undefined;
}
