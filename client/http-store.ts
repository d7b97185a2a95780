import { systemClock } from "../src/base/clock.js";
import { InvalidRequestError, StoreClosedError } from "../src/base/errors.js";
import { defaultLimits, type Limits } from "../src/base/limits.js";
import type {
  AnyShapes,
  BatchOperation,
  BatchResult,
  Commit,
  DeleteOperation,
  Document,
  DocumentKey,
  DocumentStore,
  ListOptions,
  ListPage,
  PatchOperation,
  PutOperation,
  ShapeName,
  WaitOptions,
  WaitResult,
  WatchOptions,
  WriteIdentity,
  WriteResult,
} from "../src/documents/contract.js";
import { checkId, checkShape } from "../src/documents/names.js";
import {
  batchWriteIdOf,
  type CheckedWrite,
  checkBatch,
  checkDelete,
  checkKeys,
  checkList,
  checkPatch,
  checkPut,
  checkWait,
  checkWatch,
  writeIdOf,
} from "../src/documents/requests.js";
import { checkScan } from "../src/documents/requests-read.js";
import type { ThreadAccess, ThreadReachable } from "../src/documents/thread-access.js";
import { sharedSignal, unlessAborted } from "./abortable.js";
import type { HttpRequest } from "./exchange.js";
import { idempotencyKey } from "./idempotency-key.js";
import { applyCallOptions, type CallOptions, type CallSettings, type ClientSettings } from "./options.js";
import { changesPath, documentPath, getManyPath, listPath } from "./paths.js";
import { StartOrder } from "./start-order.js";
import { type ApiAnswer, type ApiCall, Transport } from "./transport.js";
import { waitForChange } from "./wait.js";
import { HttpWatch } from "./watch.js";
import { batchRequest, onlyResult, writeRequest } from "./write-requests.js";

/**
 * A store behind an HTTP server. `createClient` makes one.
 *
 * A call is sent again, as long as `retryFor` says, when it was not answered or the server could not serve it at the
 * time. Besides the errors of every `DocumentStore` a call rejects with `unavailable` when the server could not be
 * reached or gave a read no answer; with `outcome_unknown` (a `LostAnswerError`) when a write was sent and it is not known
 * what became of it; with `unauthorized` and `forbidden`; and with a signal's reason when it aborts.
 */
export interface Client<Shapes = AnyShapes> extends DocumentStore<Shapes> {
  /** The same client, connections included, whose calls take these options. Closing one closes both. */
  with(options: CallOptions): Client<Shapes>;
  /**
   * Lets the requests that are under way finish, without further retries, ends waits and watches with `store_closed`, and
   * closes the connections. A call between two attempts rejects with what is known of it then.
   */
  close(): Promise<void>;
}

/** What a client and its views have in common. */
export interface SharedParts {
  readonly settings: ClientSettings;
  readonly transport: Transport;
  readonly order: StartOrder;
}

export function sharedParts(settings: ClientSettings): SharedParts {
  return { settings, transport: new Transport(settings), order: new StartOrder(settings.clock) };
}

/** The contract's methods as requests. What goes wrong on the way is the transport's matter. */
export class HttpStore<Shapes = AnyShapes> implements Client<Shapes>, ThreadReachable {
  readonly limits: Limits = defaultLimits;
  readonly #shared: SharedParts;
  readonly #settings: CallSettings;

  constructor(shared: SharedParts, settings: CallSettings) {
    this.#shared = shared;
    this.#settings = settings;
  }

  /** The address and the token, for a thread that makes a client of its own. @throws InvalidRequestError */
  threadAccess(): ThreadAccess {
    const { address, token, ca, retryForMs, dispatcher, clock } = this.#shared.settings;
    if (dispatcher !== undefined || clock !== systemClock) {
      const given = dispatcher === undefined ? "clock" : "dispatcher";
      throw new InvalidRequestError(given, "of a client cannot be handed to another thread");
    }
    const options = {
      url: `${address.origin}${address.basePath}`,
      timeout: this.#settings.timeoutMs / 1000,
      retryFor: retryForMs / 1000,
      ...(token === undefined ? {} : { token }),
      ...(ca === undefined ? {} : { ca }),
    };
    return { module: new URL("./index.js", import.meta.url).href, open: "createClient", options };
  }

  with(options: CallOptions): Client<Shapes> {
    return new HttpStore(this.#shared, applyCallOptions(this.#settings, options));
  }

  async get<S extends ShapeName<Shapes>>(shape: S, id: string): Promise<Shapes[S] | undefined> {
    return (await this.getDocument(shape, id))?.fields;
  }

  async getDocument<S extends ShapeName<Shapes>>(shape: S, id: string): Promise<Document<Shapes[S]> | undefined> {
    const path = documentPath(checkShape(shape, "shape"), checkId(id, "id", this.limits));
    const answer = await this.#read({ method: "GET", path, headers: [] });
    return answer.status === 404 ? undefined : (answer.body as Document<Shapes[S]>);
  }

  async getMany<S extends ShapeName<Shapes>>(
    keys: readonly DocumentKey<S>[],
  ): Promise<(Document<Shapes[S]> | undefined)[]> {
    const body = JSON.stringify({ keys: checkKeys(keys, this.limits) });
    const answer = await this.#read({ method: "POST", path: getManyPath, headers: [], body });
    const { documents } = answer.body as { documents: (Document<Shapes[S]> | null)[] };
    return documents.map((document) => document ?? undefined);
  }

  async put<S extends ShapeName<Shapes>>(
    write: PutOperation<S, Shapes[S]> & WriteIdentity,
  ): Promise<WriteResult<Shapes[S]>> {
    return this.#writeOne<S>(checkPut(write, "", this.limits), writeIdOf(write, this.limits));
  }

  async patch<S extends ShapeName<Shapes>>(
    write: PatchOperation<S, Shapes[S]> & WriteIdentity,
  ): Promise<WriteResult<Shapes[S]>> {
    return this.#writeOne<S>(checkPatch(write, "", this.limits), writeIdOf(write, this.limits));
  }

  async delete<S extends ShapeName<Shapes>>(
    write: DeleteOperation<S> & WriteIdentity,
  ): Promise<WriteResult<Shapes[S]>> {
    return this.#writeOne<S>(checkDelete(write, "", this.limits), writeIdOf(write, this.limits));
  }

  async batch(operations: readonly BatchOperation<Shapes>[], options: WriteIdentity = {}): Promise<BatchResult> {
    const request = batchRequest(checkBatch(operations, this.limits), this.limits);
    const answer = await this.#write(request, batchWriteIdOf(options, this.limits));
    return answer.body as BatchResult;
  }

  async list<S extends ShapeName<Shapes>>(shape: S, options: ListOptions = {}): Promise<ListPage<Shapes[S]>> {
    const path = listPath(checkList(shape, options, this.limits));
    const answer = await this.#read({ method: "GET", path, headers: [] });
    return answer.body as ListPage<Shapes[S]>;
  }

  /** Page by page: what existed throughout is there, once; what is written meanwhile may be there or not. */
  async *scan<S extends ShapeName<Shapes>>(
    shape: S,
    options: { readonly prefix?: string } = {},
  ): AsyncGenerator<Document<Shapes[S]>, void, undefined> {
    const { prefix } = checkScan(shape, options, this.limits);
    const { closing } = this.#shared.transport;
    const limit = this.limits.listDocumentsMax;
    for (let after: string | null | undefined; after !== null; ) {
      const page: ListPage<Shapes[S]> = await this.list(shape, {
        prefix,
        limit,
        ...(after === undefined ? {} : { after }),
      });
      for (const document of page.documents) {
        yield document;
        if (closing.aborted) throw new StoreClosedError();
      }
      after = page.next;
    }
  }

  /** As of every store. It connects again when its connection is lost, and continues where it was. */
  watch<S extends ShapeName<Shapes>>(options: WatchOptions<S> = {}): AsyncIterableIterator<Commit<Shapes[S]>> {
    const checked = checkWatch(options, this.limits);
    const { transport, order, settings } = this.#shared;
    if (transport.closing.aborted) throw new StoreClosedError();
    const headers = ["accept", "text/event-stream"];
    return HttpWatch.begin<Shapes[S]>(
      {
        open: (since, listener, streamOptions) => {
          const path = changesPath({ ...checked, since });
          return transport.openStream(this.#complete({ method: "GET", path, headers }), listener, streamOptions);
        },
        refusal: (end) => transport.refusal(end),
        unavailable: (fault) => transport.unavailable(fault),
        clock: settings.clock,
        random: settings.random,
        timeoutMs: this.#settings.timeoutMs,
        retryForMs: settings.retryForMs,
        signals: this.#endingSignals(checked.signal),
      },
      checked.since,
      order,
    );
  }

  async waitFor<S extends ShapeName<Shapes>>(
    shape: S,
    id: string,
    options: WaitOptions = {},
  ): Promise<WaitResult<Shapes[S]>> {
    const wait = checkWait(shape, id, options, this.limits);
    const { transport, order, settings } = this.#shared;
    const { timeoutMs } = this.#settings;
    const path = documentPath(wait.shape, wait.id);
    return waitForChange<Shapes[S]>(
      {
        send: (next, signals) => transport.call({ kind: "wait", next }, { timeoutMs, signals }),
        request: (headers, holdMs) => this.#complete({ method: "GET", path, headers, holdMs }),
        order,
        clock: settings.clock,
        random: settings.random,
        signals: this.#endingSignals(wait.signal),
      },
      wait,
    );
  }

  close(): Promise<void> {
    return this.#shared.transport.close();
  }

  async #writeOne<S extends ShapeName<Shapes>>(
    write: CheckedWrite,
    writeId: string | undefined,
  ): Promise<WriteResult<Shapes[S]>> {
    const request = writeRequest(write, this.limits);
    const answer = await this.#write(request, writeId);
    return (request.isBatch ? onlyResult(answer.body) : answer.body) as WriteResult<Shapes[S]>;
  }

  #write(request: HttpRequest, givenId: string | undefined): Promise<ApiAnswer> {
    const writeId = givenId ?? this.#shared.settings.newWriteId();
    const headers = [...request.headers, "idempotency-key", idempotencyKey(writeId)];
    const complete = this.#complete({ ...request, headers });
    return this.#call({ kind: "write", writeId, next: () => complete });
  }

  #read(request: HttpRequest): Promise<ApiAnswer> {
    const complete = this.#complete(request);
    return this.#call({ kind: "read", next: () => complete });
  }

  async #call(call: ApiCall): Promise<ApiAnswer> {
    const { order, transport } = this.#shared;
    const earlier = order.earlier;
    if (earlier !== undefined) await unlessAborted(earlier, this.#settings.signals);
    return transport.call(call, this.#settings);
  }

  /** Adds what every request has. */
  #complete(request: HttpRequest): HttpRequest {
    const { address, token } = this.#shared.settings;
    const headers = [...request.headers];
    if (token !== undefined) headers.push("authorization", `Bearer ${token}`);
    if (request.body !== undefined) headers.push("content-type", "application/json");
    return { ...request, path: address.basePath + request.path, headers };
  }

  /** What ends a wait or a watch. */
  #endingSignals(signal: AbortSignal | undefined): readonly AbortSignal[] {
    const signals = [...this.#settings.signals, this.#shared.transport.closing];
    return signal === undefined ? signals : [...signals, sharedSignal(signal)];
  }
}
