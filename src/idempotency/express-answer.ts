import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { finished, type Readable } from "node:stream";
import { answerInstead, unsureHeader } from "./fate-answers.js";
import type { AnswerFate, HeldRequest } from "./held-request.js";
import { keptOf, valuesByName } from "./kept-headers.js";
import type { IdempotencySettings } from "./options.js";
import type { Answer } from "./stored-answer.js";

type Settings = Pick<IdempotencySettings<never>, "keptHeaders" | "answerBytesMax">;
type Callback = (error?: Error | null) => void;

/** Status and headers at one instant. */
interface Head {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
}

/**
 * The answer of one handler, from its first byte to when it is stored. The response's own methods are put aside; what
 * comes in meanwhile is collected, up to the bound.
 *
 * - `collecting`: the handler may still answer, or be answered for by an error handler.
 * - `storing`: it has answered, or its answer is over the bound; the head is fixed.
 * - `open`: the head is sent, and what comes is passed through.
 * - `over`: nothing more is sent.
 */
export class ExpressAnswer {
  readonly #response: ServerResponse;
  readonly #held: HeldRequest;
  readonly #settings: Settings;
  readonly #own: Pick<ServerResponse, "write" | "end" | "writeHead" | "flushHeaders" | "destroy" | "emit">;
  #state: "collecting" | "storing" | "open" | "over" = "collecting";
  #chunks: Buffer[] = [];
  #bytes = 0;
  #ended: { readonly callback: Callback | undefined } | undefined;
  #drainWanted = false;
  /** The client has gone, and nobody was told yet. */
  #closeHeld: unknown[] | undefined;
  #brokenBy: Error | undefined;
  #destroyed = false;

  constructor(response: ServerResponse, held: HeldRequest, settings: Settings) {
    this.#response = response;
    this.#held = held;
    this.#settings = settings;
    const { write, end, writeHead, flushHeaders, destroy, emit } = response;
    this.#own = { write, end, writeHead, flushHeaders, destroy, emit };
  }

  /** From now on the response collects. */
  hold(): void {
    const response = this.#response;
    Object.assign(response, {
      write: (...given: unknown[]) => this.#write(given),
      end: (...given: unknown[]) => this.#end(given),
      writeHead: (...given: unknown[]) => this.#writeHead(given),
      flushHeaders: () => {
        if (this.#state === "open") this.#own.flushHeaders.call(response);
      },
      destroy: (error?: Error) => this.#destroy(error),
      emit: (event: string | symbol, ...given: unknown[]) => this.#emit(event, given),
    });
    response.on("pipe", (source: Readable) => this.#watch(source));
    if (!response.destroyed) return;
    // The client went while the key was looked up. Whoever was told of that is not told again.
    response.removeAllListeners("close");
    this.#holdClose([]);
  }

  #write(given: readonly unknown[]): boolean {
    const { chunk, encoding, callback } = partsOf(given);
    const bytes = bytesOf(chunk, encoding);
    // Node's own method says best what is wrong with it.
    if (this.#state === "open" || bytes === undefined) return Reflect.apply(this.#own.write, this.#response, given);
    if (callback !== undefined) process.nextTick(callback);
    if (this.#state === "over" || this.#ended !== undefined) return true;
    this.#collect(bytes);
    if (this.#state === "collecting") return true;
    this.#drainWanted = true;
    return false;
  }

  #end(given: readonly unknown[]): ServerResponse {
    const { chunk, encoding, callback } = partsOf(given);
    const bytes = chunk === undefined ? Buffer.alloc(0) : bytesOf(chunk, encoding);
    if (this.#state === "open" || bytes === undefined) {
      return Reflect.apply(this.#own.end, this.#response, given);
    }
    // As with any response, the first answer is the answer.
    if (this.#state === "over" || this.#ended !== undefined) return this.#response;
    this.#ended = { callback };
    this.#collect(bytes);
    if (this.#state === "collecting") this.#settle(Buffer.concat(this.#chunks));
    return this.#response;
  }

  #collect(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#bytes += bytes.byteLength;
    if (this.#state === "collecting" && this.#bytes > this.#settings.answerBytesMax) this.#settle(null);
  }

  #settle(body: Buffer | null): void {
    // The handler is past caring, and a fault of the response must not end the process.
    this.#store(body).catch((error: Error) => this.#response.destroy(error));
  }

  async #store(body: Buffer | null): Promise<void> {
    this.#state = "storing";
    const head = this.#head();
    const fate = await this.#held.answer({
      status: head.status,
      headers: keptOf(head.headers, this.#settings.keptHeaders),
      body,
    });
    this.#send(head, body, fate);
  }

  #send(head: Head, body: Buffer | null, fate: AnswerFate): void {
    if (this.#closeHeld !== undefined) markGone(this.#response, true);
    const instead = answerInstead(fate);
    if (instead !== undefined) {
      this.#restore(head);
      for (const name of [...this.#settings.keptHeaders, "set-cookie"]) this.#response.removeHeader(name);
      this.#state = "open";
      applyHead(this.#response, instead);
      this.#endOwn(instead.body);
      this.#state = "over";
    } else {
      this.#restore(head);
      if (fate.kind === "send unsure") this.#response.setHeader(...unsureHeader);
      if (body !== null) frame(this.#response, body);
      this.#state = "open";
      this.#flush();
    }
    this.#chunks = [];
    this.#releaseClose();
  }

  #endOwn(bytes: Buffer): void {
    Reflect.apply(this.#own.end, this.#response, [bytes, this.#ended?.callback]);
  }

  /** By the response's own methods: those of whoever has wrapped it since have seen this before. */
  #flush(): void {
    const response = this.#response;
    const bytes = Buffer.concat(this.#chunks);
    if (this.#ended !== undefined) {
      this.#endOwn(bytes);
    } else if (Reflect.apply(this.#own.write, response, [bytes]) && this.#drainWanted) {
      // Otherwise the response itself says when it has drained.
      response.emit("drain");
    }
  }

  /** A head that is given at once is kept as if it had been set piece by piece. */
  #writeHead(given: readonly unknown[]): ServerResponse {
    const response = this.#response;
    if (this.#state === "open") return Reflect.apply(this.#own.writeHead, response, given);
    if (this.#state !== "collecting") return response;
    const [status, ...rest] = given;
    if (typeof status === "number") response.statusCode = status;
    if (typeof rest[0] === "string") response.statusMessage = rest[0];
    for (const [name, value] of headersIn(rest.at(-1))) response.setHeader(name, value);
    return response;
  }

  /** The handler's doing, or a pipeline's: Node itself does not destroy the response when the client goes. */
  #destroy(error: Error | undefined): ServerResponse {
    if (this.#state === "collecting") {
      this.#state = "over";
      this.#held.cut("the response was destroyed before its answer was whole", { cause: error });
    }
    this.#destroyed = true;
    Reflect.apply(this.#own.destroy, this.#response, [error]);
    this.#releaseClose();
    return this.#response;
  }

  /** Whoever feeds the response would stop when the client goes: nobody is told before the answer is whole. */
  #emit(event: string | symbol, given: unknown[]): boolean {
    const held = !this.#destroyed && (this.#state === "collecting" || this.#state === "storing");
    if (event !== "close" || !held) return Reflect.apply(this.#own.emit, this.#response, [event, ...given]);
    this.#holdClose(given);
    this.#cutIfAlone();
    return true;
  }

  #holdClose(given: unknown[]): void {
    this.#closeHeld = given;
    markGone(this.#response, false);
  }

  #releaseClose(): void {
    const given = this.#closeHeld;
    this.#closeHeld = undefined;
    if (given === undefined) return;
    markGone(this.#response, true);
    this.#response.emit("close", ...given);
  }

  #watch(source: Readable): void {
    finished(source, { writable: false }, (error) => {
      if (error === undefined || error === null) return;
      // An error handler goes first.
      setImmediate(() => {
        this.#brokenBy = error;
        this.#cutIfAlone();
      });
    });
  }

  /** When the source of an answer has broken off and there is no client, nobody will end the answer. */
  #cutIfAlone(): void {
    if (this.#state !== "collecting" || this.#closeHeld === undefined || this.#brokenBy === undefined) return;
    this.#state = "over";
    this.#held.cut("the answer broke off", { cause: this.#brokenBy });
    this.#releaseClose();
  }

  #head(): Head {
    const { statusCode: status } = this.#response;
    return { status, headers: { ...this.#response.getHeaders() } };
  }

  /** An error that came after the answer may have changed the head in vain. */
  #restore({ status, headers }: Head): void {
    const response = this.#response;
    response.statusCode = status;
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value);
  }
}

/**
 * What Node sets before it says that the client has gone. Whoever only looks at it is not told either: a pipeline would not
 * begin on such a response, and would not destroy it when its source fails.
 */
function markGone(response: ServerResponse, gone: boolean): void {
  Reflect.set(response, "destroyed", gone);
  Reflect.set(response, "_closed", gone);
}

/** Sends a whole answer. */
export function sendAnswer(response: ServerResponse, answer: Answer): void {
  applyHead(response, answer);
  response.end(answer.body);
}

function applyHead(response: ServerResponse, { status, headers, body }: Answer): void {
  response.statusCode = status;
  for (const [name, value] of valuesByName(headers)) response.setHeader(name, value);
  frame(response, body);
}

/** The length is known, whatever was thought of it before. */
function frame(response: ServerResponse, body: Buffer): void {
  response.removeHeader("transfer-encoding");
  response.removeHeader("content-length");
  const { statusCode: status } = response;
  // These have no body, and trailers need chunks.
  if (status === 204 || status === 304 || response.hasHeader("trailer")) return;
  response.setHeader("content-length", body.byteLength);
}

/** The arguments of `write` and `end`, whose last two may be left out. */
function partsOf(given: readonly unknown[]): {
  readonly chunk: unknown;
  readonly encoding: BufferEncoding | undefined;
  readonly callback: Callback | undefined;
} {
  const callback = given.find((each): each is Callback => typeof each === "function");
  const [chunk, encoding] = given.filter((each) => typeof each !== "function");
  return {
    chunk: chunk ?? undefined,
    encoding: typeof encoding === "string" ? (encoding as BufferEncoding) : undefined,
    callback,
  };
}

/** A copy: the writer may use its buffer again. undefined for what cannot be written. */
function bytesOf(chunk: unknown, encoding: BufferEncoding | undefined): Buffer | undefined {
  if (typeof chunk === "string") return Buffer.from(chunk, encoding);
  return chunk instanceof Uint8Array ? Buffer.from(chunk) : undefined;
}

/** The headers of `writeHead`: an object, pairs, or names and values in turn. */
function headersIn(given: unknown): readonly (readonly [string, OutgoingHttpHeader])[] {
  if (typeof given !== "object" || given === null) return [];
  if (!Array.isArray(given)) return Object.entries(given as OutgoingHttpHeaders).flatMap(defined);
  const pairs = Array.isArray(given[0])
    ? (given as [string, OutgoingHttpHeader][])
    : given.flatMap((name, index) =>
        index % 2 === 0 ? [[name, given[index + 1]] as [string, OutgoingHttpHeader]] : [],
      );
  const byName = new Map<string, OutgoingHttpHeader>();
  for (const [name, value] of pairs) {
    const before = byName.get(name);
    byName.set(name, before === undefined ? value : [before, value].flat().map(String));
  }
  return [...byName];
}

function defined([name, value]: [string, OutgoingHttpHeader | undefined]): [string, OutgoingHttpHeader][] {
  return value === undefined ? [] : [[name, value]];
}
