import { OnceKvError } from "../../src/base/errors.js";
import {
  type LookedUp,
  type ToolCall,
  type ToolCallRecord,
  type ToolCalls,
  type ToolCallsOptions,
  toolCalls,
} from "../../src/tool-calls/index.js";
import { FaultyNetwork } from "./faulty-network.js";
import { type Account, Bank } from "./model-bank.js";
import type { Behaviour, Event } from "./model-events.js";
import type { Surroundings } from "./model-stores.js";

/* One run of the model: workers over a real store, to whom the events happen, and the bank that their tools go to. */

interface Worker {
  readonly name: string;
  readonly calls: ToolCalls;
  readonly network: FaultyNetwork;
  isDead: boolean;
}

/** Thrown by the tools, with what they say about their effect. */
class ToolError extends Error {
  readonly outcome: "failed" | "retryable" | "unknown";

  constructor(outcome: ToolError["outcome"]) {
    super(`the tool says ${outcome}`);
    this.outcome = outcome;
  }
}

/** In seconds. The run time is short of the window, as is everything. */
const times = { pendingTtl: 10, completedTtl: 60, failedTtl: 5, waitTimeout: 20, maxRunTime: 30 } as const;

export class ModelRun {
  readonly bank = new Bank(times.completedTtl * 1000);
  /** Errors that a caller must not get. */
  readonly strange: unknown[] = [];
  readonly #around: Surroundings;
  readonly #accounts: readonly Account[];
  readonly #workers: Worker[] = [];
  readonly #operator: ToolCalls;
  /** Tools that sleep, each with its worker. */
  #sleepers: { readonly worker: Worker; readonly wake: () => void }[] = [];
  /** Who may give up, the first caller first. */
  #callers: { readonly worker: Worker; readonly caller: AbortController }[] = [];
  /** The calls of living workers that have not ended. */
  readonly #open = new Map<Promise<void>, Worker>();
  #generation = 0;

  constructor(around: Surroundings, accounts: readonly Account[]) {
    this.#around = around;
    this.#accounts = accounts;
    this.#operator = toolCalls(around.connect(), { clock: around.clock, ...times });
    for (let index = 0; index < 3; index++) this.#workers.push(this.#newWorker());
  }

  async meet(event: Event): Promise<void> {
    switch (event.event) {
      case "call":
        this.#call(this.#worker(event.worker), this.#account(event.account), event.args, event.does);
        break;
      case "plan":
        this.#track(this.#worker(event.worker), (worker) =>
          worker.calls.prepare(this.#request(this.#account(event.account), "x")),
        );
        break;
      case "fault":
        this.#worker(event.worker).network.fault(event.request, event.fault, event.times);
        break;
      case "deliver":
        this.#worker(event.worker).network.deliver();
        break;
      case "cut":
        this.#worker(event.worker).network.down = true;
        break;
      case "mend":
        this.#worker(event.worker).network.down = false;
        break;
      case "give up":
        this.#giveUp(this.#worker(event.worker));
        break;
      case "crash":
        this.#crash(event.worker);
        break;
      case "wake":
        this.#sleepers.shift()?.wake();
        break;
      case "time":
        await this.#pass(event.seconds);
        break;
      case "resolve":
        await this.#resolve(this.#account(event.account).key, event.decree);
        break;
      case "forget":
        await this.#forget(this.#account(event.account).key);
        break;
      case "round":
        await this.#round(this.#worker(event.worker));
        break;
    }
    await this.#around.quiet();
  }

  /** Nothing goes wrong any more. Says which calls have not ended, although everything has had its time. */
  async end(): Promise<readonly string[]> {
    for (let seconds = 0; seconds < 200; seconds += 5) {
      this.#mendAll();
      await this.#pass(5);
      if (this.#open.size === 0) break;
    }
    const waiting = [...this.#open.values()].map(({ name }) => `a call of ${name} never ended`);
    const last = this.#newWorker();
    for (const account of this.#accounts) {
      let how = "nothing";
      const run = last.calls.run(
        this.#request(account, "x", { waitTimeout: 60 }),
        this.#tool(last, account, "x", "returns"),
      );
      void run.then(
        ({ result, was_replay, persisted }) => {
          how = "a result";
          this.bank.judgeResult(account.key, "x", result, was_replay || persisted);
        },
        (error: unknown) => {
          how = error instanceof OnceKvError ? error.code : String(error);
        },
      );
      for (let seconds = 0; seconds < 70 && how === "nothing"; seconds += 2) await this.#pass(2);
      if (!answers.has(how)) waiting.push(`the last caller of ${account.key} got ${how}`);
    }
    return waiting;
  }

  #call(worker: Worker, account: Account, args: string, does: Behaviour): void {
    this.#track(worker, async () => {
      const caller = new AbortController();
      this.#callers.push({ worker, caller });
      const request = { ...this.#request(account, args), signal: caller.signal };
      const { result, was_replay, persisted } = await worker.calls.run(
        request,
        this.#tool(worker, account, args, does),
      );
      this.bank.judgeResult(account.key, args, result, was_replay || persisted);
    });
  }

  #tool(
    worker: Worker,
    account: Account,
    args: string,
    does: Behaviour,
  ): (call: ToolCall<unknown>) => Promise<unknown> {
    return async (call) => {
      const now = this.#around.clock.monotonicNow();
      const fire = this.bank.enter(account, worker.name, args, call.fencingToken, call.attempt, now);
      let certainlyNot = false;
      try {
        switch (does) {
          case "fails":
          case "has to be tried again":
            certainlyNot = true;
            throw new ToolError(does === "fails" ? "failed" : "retryable");
          case "parks":
            certainlyNot = true;
            // It goes no further, and the record may say so before it hears of that.
            this.bank.end(fire, certainlyNot);
            return await call.park("waits for Ann");
          case "ends in doubt without":
            throw new ToolError("unknown");
          case "returns slowly":
            await this.#sleep(worker);
        }
        await call.fired();
        if (worker.isDead) return await new Promise(() => {});
        this.bank.begin(fire);
        if (does === "is suspended") await this.#sleep(worker);
        const receipt = this.bank.effect(fire);
        if (does === "ends in doubt with its effect") throw new ToolError("unknown");
        return receipt;
      } finally {
        this.bank.end(fire, certainlyNot);
      }
    };
  }

  /** Until a test wakes it; a dead worker's never wakes. */
  #sleep(worker: Worker): Promise<void> {
    return new Promise((resolve) => this.#sleepers.push({ worker, wake: resolve }));
  }

  #request(account: Account, args: string, more: ToolCallsOptions = {}) {
    const { key, policy, marks } = account;
    return {
      tool: "pay",
      args,
      key,
      policy,
      marks,
      ...times,
      ...more,
      reconcile: (record: ToolCallRecord) => this.#lookUp(record),
    };
  }

  #lookUp({ key, intent }: ToolCallRecord): LookedUp {
    const word = this.bank.say(key.slice("pay:".length), intent);
    if (word === "not known") return { unknown: true };
    return word === "not done" ? { not_done: true } : { result: word };
  }

  async #resolve(key: string, decree: boolean): Promise<void> {
    const target = `pay:${key}`;
    const seen = await expected(this.#operator.get(target));
    if (seen === undefined) return;
    const { intent, fingerprint } = seen.fields;
    const word = this.bank.say(key, intent);
    if (word === "not known" && !decree) return;
    const known = decree
      ? { error: new Error("given up") }
      : word === "not done"
        ? { not_done: true as const }
        : { result: word };
    await expected(this.#operator.resolve(target, known, { by: "ann", fingerprint }));
  }

  async #forget(key: string): Promise<void> {
    const isNew = this.bank.mayForget(key);
    const isForgotten = await expected(this.#operator.forget(`pay:${key}`));
    if (isNew && isForgotten !== true) this.bank.remembers(key);
  }

  async #round(worker: Worker): Promise<void> {
    this.#track(worker, async () => {
      const reconciler = worker.calls.reconciler({
        lookup: (record) => this.#lookUp(record),
        interval: 1000,
        maxRunTime: 5,
      });
      try {
        await reconciler.run();
      } finally {
        await reconciler.close();
      }
    });
  }

  #track(worker: Worker, work: (worker: Worker) => Promise<unknown>): void {
    const ended: Promise<void> = work(worker)
      .then(
        () => {},
        (error: unknown) => this.#judgeError(error),
      )
      .finally(() => this.#open.delete(ended));
    this.#open.set(ended, worker);
  }

  #judgeError(error: unknown): void {
    if (error instanceof ToolError) return;
    const isOurs = error instanceof OnceKvError && !forbidden.has(error.code);
    if (!isOurs) this.strange.push(error);
  }

  #crash(index: number): void {
    const worker = this.#worker(index);
    worker.isDead = true;
    worker.network.down = true;
    this.#sleepers = this.#sleepers.filter((each) => each.worker !== worker);
    this.bank.bury(worker.name);
    for (const [call, of] of this.#open) if (of === worker) this.#open.delete(call);
    this.#workers[index] = this.#newWorker();
  }

  #giveUp(worker: Worker): void {
    const index = this.#callers.findIndex((each) => each.worker === worker);
    if (index !== -1) this.#callers.splice(index, 1)[0]?.caller.abort(new ToolError("unknown"));
  }

  #mendAll(): void {
    for (const { network } of this.#workers) {
      network.down = false;
      network.forgetFaults();
      network.deliver();
    }
    for (const { wake } of this.#sleepers.splice(0)) wake();
  }

  async #pass(seconds: number): Promise<void> {
    for (let left = seconds; left > 0; left -= 1) {
      this.#around.clock.advance(Math.min(left, 1) * 1000);
      await this.#around.quiet();
    }
  }

  #newWorker(): Worker {
    const name = `W${++this.#generation}`;
    const network = new FaultyNetwork(this.#around.connect());
    const calls = toolCalls(network.store, { clock: this.#around.clock, owner: name, ...times });
    return { name, network, calls, isDead: false };
  }

  #worker(index: number): Worker {
    const worker = this.#workers[index];
    if (worker === undefined) throw new Error(`no worker ${index}`);
    return worker;
  }

  #account(index: number): Account {
    const account = this.#accounts[index];
    if (account === undefined) throw new Error(`no account ${index}`);
    return account;
  }
}

/** What the last caller may get: all but that somebody is still at work. */
const answers: ReadonlySet<string> = new Set(["a result", "needs_review", "tool_call_failed", "idempotency_conflict"]);

/** Codes that would say that the layer itself is at fault. */
const forbidden: ReadonlySet<string> = new Set(["record_malformed", "invalid_request", "not_found"]);

/** What an operator is told; undefined: that it cannot be. */
async function expected<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof OnceKvError)) throw error;
    return undefined;
  }
}
