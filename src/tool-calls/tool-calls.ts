import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import type { AnyShapes, DocumentStore } from "../documents/contract.js";
import { checkId } from "../documents/names.js";
import { isPlainObject } from "../documents/plain-object.js";
import { checkSignal, readMembers } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import type { CallContext } from "./acquiring.js";
import { Background } from "./background.js";
import { type Claim, claimCall, type NotClaimed } from "./claim.js";
import {
  forgetCall,
  getCall,
  listCalls,
  type ToolCallDocument,
  type ToolCallListOptions,
  type ToolCallPage,
} from "./inspection.js";
import type { KnownOutcome } from "./looking-up.js";
import { Observer, type ToolCallStats } from "./observer.js";
import {
  type CallOptions,
  callOptionNames,
  resolveCallOptions,
  resolveOptions,
  type ToolCallsOptions,
  type ToolCallsSettings,
} from "./options.js";
import { planCall } from "./planning.js";
import { Reconciler, type ReconcilerOptions } from "./reconciler.js";
import type { ToolCallRecord } from "./record.js";
import { RecordStore } from "./record-store.js";
import { RemoteClaims } from "./remote-claims.js";
import { openRenewalThread } from "./renewal-thread.js";
import {
  type ArgumentsOf,
  nameCall,
  type PreparedCall,
  prepareCall,
  type ToolCallName,
  type ToolCallRequest,
} from "./request.js";
import { type ApproveOptions, type ResolveOptions, resolveCall } from "./resolving.js";
import type { ToolCallOutcome } from "./result.js";
import { ResultKeeping } from "./result-keeping.js";
import { runCall, type Tool } from "./run.js";
import { type ChunkOptions, checkChunkOptions, Handover } from "./stream.js";
import type { CallTiming } from "./transition-types.js";
import { awaitOutcome } from "./waiting.js";

/** What a tool's final result is: the last chunk of a stream, else what it returns. */
export type FinalResult<R> = Awaited<R> extends AsyncIterable<infer C> ? C : Awaited<R>;

/** A request for a tool that streams. */
export type StreamRequest<C, T, A = unknown> = ToolCallRequest<A> & ChunkOptions<C, T>;

/** How long, and with what signal, to wait. */
export interface WaitForOutcome {
  /** Seconds; the `waitTimeout` of the options when absent. */
  readonly timeout?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes tool calls fire once: at most one fire per claim, and a new claim only after the one before has been released, has
 * lapsed unrenewed, or has failed long enough ago. Works over any `DocumentStore`; workers that share a store, a shape and
 * keys share their calls.
 *
 * @throws InvalidRequestError when an option is not known or out of bounds
 */
export function toolCalls<Shapes = AnyShapes>(store: DocumentStore<Shapes>, options: ToolCallsOptions = {}): ToolCalls {
  // The records have their own shape: how the others are typed does not matter here.
  const untyped = store as unknown as DocumentStore;
  return new ToolCalls(untyped, resolveOptions(options, store.limits));
}

/** The tool calls of one store; `toolCalls` makes it. */
export class ToolCalls {
  readonly #context: CallContext;
  readonly #settings: ToolCallsSettings;
  /** Calls that were begun and have not ended. */
  readonly #active = new Set<Promise<unknown>>();
  readonly #reconcilers = new Set<Reconciler>();
  #closed = false;

  constructor(store: DocumentStore, settings: ToolCallsSettings) {
    const { clock, owner, newClaimId, shape, hooks } = settings;
    const records = new RecordStore(store, shape);
    const renewalThread = settings.renewIn === "worker" ? openRenewalThread(store, shape, clock) : undefined;
    const results = new ResultKeeping(store, settings.results);
    const background = new Background(records, clock);
    this.#settings = settings;
    const { limits } = store;
    const observer = new Observer(hooks);
    this.#context = {
      records,
      results,
      background,
      clock,
      owner,
      newClaimId,
      limits,
      observer,
      renewalThread,
      leases: new Set(),
    };
  }

  /**
   * Runs a tool call: claims it and enters the tool, or waits for and replays what another claim came to. What the tool
   * throws is recorded by its class and thrown on to this caller as it is.
   *
   * @throws IdempotencyConflictError the key was used with other arguments
   * @throws CallInFlightError somebody else is still at work when the time to wait is over
   * @throws ToolCallFailedError the call has failed before, and is not to be tried again yet
   * @throws ClaimLostError the claim was lost while the tool ran, so that its outcome is not recorded
   * @throws NeedsReviewError, CallParkedError for records of other policies
   * @throws OnceKvError what the store throws before the tool was entered: nothing was fired then
   */
  run<C, T = C, A = unknown>(
    request: StreamRequest<C, T, A> & { readonly collect: (soFar: T | undefined, chunk: C) => T },
    tool: Tool<AsyncIterable<C> | Promise<AsyncIterable<C>>, ArgumentsOf<A>>,
  ): Promise<ToolCallOutcome<T>>;
  run<R, A = unknown>(
    request: StreamRequest<FinalResult<R>, never, A>,
    tool: Tool<R, ArgumentsOf<A>>,
  ): Promise<ToolCallOutcome<FinalResult<R>>>;
  run(request: UntypedStreamRequest, tool: Tool<unknown>): Promise<ToolCallOutcome<unknown>> {
    return this.#track(async () => {
      const { call, chunks } = this.#prepareStream(request);
      return runCall(this.#context, call, checkTool(tool), chunks);
    });
  }

  /**
   * The same for a tool that streams: yields its chunks as they come, and returns the outcome. A replay yields the stored
   * final result as its only chunk. The call begins with the first `next()`; a reader who leaves early does not end it.
   */
  stream<C, T = C, A = unknown>(
    request: Omit<StreamRequest<C, T, A>, "onChunk">,
    tool: Tool<AsyncIterable<C> | Promise<AsyncIterable<C>>, ArgumentsOf<A>>,
  ): AsyncGenerator<C | T, ToolCallOutcome<T>>;
  async *stream<C, T>(
    request: Omit<StreamRequest<C, T>, "onChunk">,
    tool: Tool<AsyncIterable<C> | Promise<AsyncIterable<C>>>,
  ): AsyncGenerator<C | T, ToolCallOutcome<T>> {
    const handover = new Handover<C>();
    let chunks = 0;
    const onChunk = (chunk: C): Promise<void> => {
      chunks += 1;
      return handover.push(chunk);
    };
    const running = this.#track(async () => {
      const prepared = this.#prepareStream({ ...request, onChunk });
      return runCall(this.#context, prepared.call, checkTool(tool), prepared.chunks);
    });
    const end = (): void => handover.end();
    void running.then(end, end);
    yield* handover.values();
    const outcome = (await running) as ToolCallOutcome<T>;
    if (chunks === 0 && outcome.result !== undefined) yield outcome.result;
    return outcome;
  }

  /**
   * Claims a call for the caller to carry out by hand, or waits for and replays what another claim came to.
   *
   * @throws as `run`
   */
  claim<A = unknown>(request: ToolCallRequest<A>): Promise<Claim<ArgumentsOf<A>> | NotClaimed>;
  claim(request: ToolCallRequest): Promise<Claim | NotClaimed> {
    return this.#track(async () => claimCall(this.#context, this.#prepare(request)));
  }

  /**
   * Writes a call down as `planned` before it is made, and returns its key, to be kept where the caller's progress is
   * kept. `run` with that key, or with the same request, goes on from there; calling this again changes nothing.
   *
   * @throws IdempotencyConflictError the key is bound to other arguments; what the store throws
   */
  prepare<A = unknown>(request: ToolCallRequest<A>): Promise<string>;
  prepare(request: ToolCallRequest): Promise<string> {
    return this.#track(async () => planCall(this.#context, this.#prepare(request)));
  }

  /**
   * Ends the doubt about a call: it was done with this result, it definitely failed with this error, or it was not done
   * and can no longer happen. Waiters wake and replay it, or claim. Who said so, when and why stays in the record.
   *
   * @returns the record as it stands then
   * @throws CallInFlightError while a claim on it may be worked under; NothingToResolveError when it is settled;
   * `not_found`; IdempotencyConflictError when the fingerprint is another one
   */
  resolve<A = unknown>(
    target: string | ToolCallName<A>,
    known: KnownOutcome,
    options: ResolveOptions,
  ): Promise<ToolCallRecord> {
    return this.#track(async () => {
      return resolveCall(this.#context, this.keyOf(target), known, options, this.#timing());
    });
  }

  /**
   * Lets a parked call go on: the next `run` enters its tool, which finds this approval in `call.approval`. To reject it,
   * `resolve` it with an error.
   *
   * @param options.fingerprint of the record that was looked at: what is approved are those arguments, and no others
   * @throws NothingToResolveError when it is not parked, and as `resolve`
   */
  approve<A = unknown>(target: string | ToolCallName<A>, options: ApproveOptions): Promise<ToolCallRecord> {
    return this.#track(async () => {
      const key = this.keyOf(target);
      if (options?.fingerprint === undefined) {
        throw new InvalidRequestError("fingerprint", "is needed: it says which arguments are approved");
      }
      return resolveCall(this.#context, key, { not_done: true }, options, this.#timing(), true);
    });
  }

  /**
   * Works through calls in doubt in the background, by asking the other side about each: for tools of the policy
   * `reconcile` whose callers do not come back.
   *
   * @throws InvalidRequestError
   */
  reconciler(options: ReconcilerOptions): Reconciler {
    if (this.#closed) throw closed();
    const forget = (): boolean => this.#reconcilers.delete(reconciler);
    const reconciler: Reconciler = new Reconciler(this.#context, options, this.#timing(), forget);
    this.#reconcilers.add(reconciler);
    return reconciler;
  }

  /** Claims of callers elsewhere, who speak through this process: what the HTTP server serves. */
  remoteClaims(): RemoteClaims {
    return new RemoteClaims({
      context: this.#context,
      timing: this.#timing(),
      prepare: (request) => this.#prepare(request),
      track: (begin) => this.#track(begin),
    });
  }

  /**
   * Judges options for calls to come, together with those of `toolCalls`: for whoever takes them long before the first call.
   *
   * @throws InvalidRequestError
   */
  checkOptions(options: CallOptions): void {
    readMembers(options, "", "the options", new Set(callOptionNames));
    resolveCallOptions(this.#settings.call, options, this.#context.limits);
  }

  /** The window of calls that bring none of their own, in seconds: so long is a settled call remembered. */
  get completedTtl(): number {
    return this.#timing().completedTtl;
  }

  /** How often what has happened. */
  stats(): ToolCallStats {
    return this.#context.observer.stats;
  }

  /**
   * Waits for what a call comes to, without ever claiming it.
   *
   * @param target the call, or its whole key
   * @returns undefined when nobody has called it, or it was forgotten
   * @throws as `run`
   */
  wait<A = unknown>(
    target: string | ToolCallName<A>,
    options: WaitForOutcome = {},
  ): Promise<ToolCallOutcome<unknown> | undefined> {
    return this.#track(async () => {
      readMembers(options, "", "the options", waitMembers);
      const { timeout: waitTimeout, signal } = options;
      const { limits } = this.#context;
      const settings = resolveCallOptions(this.#settings.call, { waitTimeout }, limits);
      const named = typeof target === "string" ? undefined : nameOf(target, limits);
      return awaitOutcome(this.#context, {
        key: named?.key ?? checkId(target, "target", limits),
        identity: named,
        timeoutMs: settings.waitTimeout * 1000,
        signal: signal === undefined ? undefined : checkSignal(signal, "signal"),
      });
    });
  }

  /** The record of a call; undefined when there is none. @throws OnceKvError `record_malformed`, and what the store throws */
  async get<A = unknown>(target: string | ToolCallName<A>): Promise<ToolCallDocument | undefined> {
    return getCall(this.#context, this.keyOf(target));
  }

  /** One page of the records, in the order of their keys. */
  async list(options: ToolCallListOptions = {}): Promise<ToolCallPage> {
    return listCalls(this.#context, options);
  }

  /**
   * Deletes the record of a call that is not being worked on: the next call with its key is a new one, with any arguments.
   *
   * @returns whether there was one
   * @throws CallInFlightError while a claim on it may be worked under
   */
  async forget<A = unknown>(target: string | ToolCallName<A>): Promise<boolean> {
    return forgetCall(this.#context, this.keyOf(target));
  }

  /** The whole key of a call, to be stored before the call is made. @throws InvalidRequestError */
  keyOf<A = unknown>(target: string | ToolCallName<A>): string {
    const { limits } = this.#context;
    return typeof target === "string" ? checkId(target, "target", limits) : nameOf(target, limits).key;
  }

  /**
   * Takes no more calls, and waits until those that were begun, and the writes that go on in the background, have ended.
   * What has not ended in time is left to itself: its signal aborts, its claims are no longer renewed, and lapse. Does not
   * close the store.
   *
   * @param options.timeout seconds to wait; 30 when absent
   */
  async close(options: { readonly timeout?: number | undefined } = {}): Promise<void> {
    this.#closed = true;
    const { background, leases, clock, renewalThread } = this.#context;
    const reconcilers = Promise.all([...this.#reconcilers].map((reconciler) => reconciler.close()));
    const done = reconcilers.then(() => this.#idle());
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimer((options.timeout ?? 30) * 1000, resolve, { keepAlive: true });
      void done.then(() => {
        cancel();
        resolve();
      });
    });
    for (const lease of [...leases]) lease.abandon("these tool calls were closed");
    background.close();
    await background.idle();
    await renewalThread?.close();
  }

  async #idle(): Promise<void> {
    while (this.#active.size > 0) await Promise.allSettled(this.#active);
    await this.#context.background.idle();
  }

  #track<T>(begin: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closed());
    const call = begin();
    this.#active.add(call);
    const end = (): void => {
      this.#active.delete(call);
    };
    void call.then(end, end);
    return call;
  }

  /** The times of whoever decides about a record without calling. */
  #timing(): CallTiming {
    return resolveCallOptions(this.#settings.call, {}, this.#context.limits).timing;
  }

  #prepare(request: ToolCallRequest): PreparedCall {
    return prepareCall(request, this.#settings, this.#context.limits);
  }

  #prepareStream(request: UntypedStreamRequest): { readonly call: PreparedCall; readonly chunks: ChunkOptions } {
    if (!isPlainObject(request)) return { call: this.#prepare(request), chunks: {} };
    const { collect, onChunk, ...rest } = request;
    return { call: this.#prepare(rest), chunks: checkChunkOptions({ collect, onChunk }) };
  }
}

function closed(): OnceKvError {
  return new OnceKvError("store_closed", "these tool calls are closed");
}

/** A request whose functions are not judged yet. */
type UntypedStreamRequest = ToolCallRequest & { readonly collect?: unknown; readonly onChunk?: unknown };

/** Found out before the claim: afterwards it would count as a throw of the tool. */
function checkTool(tool: Tool<unknown>): Tool<unknown> {
  if (typeof tool === "function") return tool;
  throw new InvalidRequestError("tool", `must be a function, not ${kindOf(tool)}`);
}

const waitMembers: ReadonlySet<string> = new Set(["timeout", "signal"]);

function nameOf<A>(target: ToolCallName<A>, limits: CallContext["limits"]): PreparedCall["identity"] {
  const { key, fingerprint, args } = nameCall(target, limits);
  return { tool: target.tool, key, fingerprint, intent: args, policy: "refire", marks: false };
}
