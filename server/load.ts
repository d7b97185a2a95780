import type { ServerResponse } from "node:http";
import type { Clock } from "../src/base/clock.js";
import { OnceKvError } from "../src/base/errors.js";
import { endConnection } from "./pending-answers.js";

export interface LoadOptions {
  readonly clock: Clock;
  /** Requests that are carried out at the same time, without those that have a bound of their own. */
  readonly requestsMax: number;
  /** Bytes of bodies that have arrived, and of answers that wait for their readers. */
  readonly heldBytesMax: number;
  /** Milliseconds in which a reader must have taken its answer. */
  readonly answerMs: number;
}

/** Bytes of an answer that is not counted: the number of requests bounds these, and most fit into the system's own buffers. */
const smallAnswerBytes = 16 * 1024;

/** Seconds after which somebody who was refused may come again: most of what is held is gone within one. */
const retrySeconds = 1;

/**
 * What all requests together hold of the machine. Beyond its bounds requests are refused before they do anything, so that a
 * server that is asked for more than it can do goes on with as much as it can, out of bounded memory.
 *
 * Memory is what is bounded, and not time: a refusal takes nearly as long as a small request.
 */
export class Load {
  readonly #options: LoadOptions;
  readonly #open = new Set<RequestLoad>();
  #requests = 0;
  #bytes = 0;
  #refused = 0;
  #cut = 0;
  #cancelLook: (() => void) | undefined;

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  /** Requests that are carried out now. */
  get requests(): number {
    return this.#requests;
  }

  /** Bytes of bodies and answers that are held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Requests that were refused since the server began. */
  get refused(): number {
    return this.#refused;
  }

  /** Connections that were cut since then, since their answer was not taken in time. */
  get cut(): number {
    return this.#cut;
  }

  /**
   * Begins to count a request, whose body has not been read yet. It holds no place among those that are carried out before it
   * has arrived: slow senders would keep the others out.
   *
   * @param bodyBytes that it says it will send
   * @throws OnceKvError `overloaded` when it would be refused once it has arrived
   */
  begin(response: ServerResponse, bodyBytes: number): RequestLoad {
    this.checkPlace();
    this.checkRoom(bodyBytes, 0);
    const request = new RequestLoad(this, response);
    this.#open.add(request);
    response.once("close", () => {
      request.end();
      this.#open.delete(request);
    });
    this.#cancelLook ??= this.#options.clock.setTimer(this.#options.answerMs / 4, () => this.#look());
    return request;
  }

  /** Stops looking after slow readers. */
  finish(): void {
    this.#cancelLook?.();
  }

  /** @throws OnceKvError `overloaded` unless one more request may be carried out */
  checkPlace(): void {
    const { requestsMax } = this.#options;
    if (this.#requests >= requestsMax) this.#refuse(`the server carries out ${requestsMax} requests already`);
  }

  /**
   * A single request may be larger than the bound if nothing else is held: it would never be taken otherwise.
   *
   * @param own bytes that the request holds already
   * @throws OnceKvError `overloaded` unless so many bytes more may be held
   */
  checkRoom(more: number, own: number): void {
    const { heldBytesMax } = this.#options;
    if (this.#bytes > own && this.#bytes + more > heldBytesMax) {
      this.#refuse(`requests and answers of more than ${heldBytesMax} bytes are held already`);
    }
  }

  /** Changes what is held. For a `RequestLoad` only. */
  count(requests: number, bytes: number): void {
    this.#requests += requests;
    this.#bytes += bytes;
  }

  /** The time by which answers are judged, in milliseconds. */
  now(): number {
    return this.#options.clock.monotonicNow();
  }

  #refuse(message: string): never {
    this.#refused += 1;
    throw new OnceKvError("overloaded", `${message}; nothing was done, try again after a moment`, {
      retryAfter: retrySeconds,
    });
  }

  /** Nothing in Node bounds the time that an answer takes, and a reader that stands still would keep it for ever. */
  #look(): void {
    const { clock, answerMs } = this.#options;
    const latest = this.now() - answerMs;
    for (const request of this.#open) {
      if (!request.answeredBefore(latest)) continue;
      this.#cut += 1;
      request.cut();
    }
    this.#cancelLook = this.#open.size === 0 ? undefined : clock.setTimer(answerMs / 4, () => this.#look());
  }
}

/** What one request holds, until its connection has taken the answer or is gone. */
export class RequestLoad {
  readonly #load: Load;
  readonly #response: ServerResponse;
  #places = 0;
  #bytes = 0;
  #answeredAt: number | undefined;
  #ended = false;

  constructor(load: Load, response: ServerResponse) {
    this.#load = load;
    this.#response = response;
  }

  /** Takes a place among those that are carried out. @throws OnceKvError `overloaded` */
  enter(): void {
    this.#load.checkPlace();
    this.#occupy(1);
  }

  /** Gives the place back: the request waits for something from now on, and another bound counts it. */
  wait(): void {
    this.#occupy(0);
  }

  /** Counts a part of the body that has arrived. @throws OnceKvError `overloaded` */
  received(bytes: number): void {
    this.#load.checkRoom(bytes, this.#bytes);
    this.#hold(this.#bytes + bytes);
  }

  /** Gives back what was held for the body. */
  forgetBody(): void {
    this.#hold(0);
  }

  /** Whether an answer of this size may wait for its reader. Not for what was done already. @throws OnceKvError `overloaded` */
  checkAnswer(bytes: number): void {
    if (bytes > smallAnswerBytes) this.#load.checkRoom(bytes, this.#bytes);
  }

  /** Counts the answer, in the place of the body that led to it. */
  answered(bytes: number): void {
    this.#hold(bytes > smallAnswerBytes ? bytes : 0);
    this.#answeredAt = this.#load.now();
  }

  /** Whether it was answered before an instant, and its reader has not taken the answer. */
  answeredBefore(instant: number): boolean {
    return this.#answeredAt !== undefined && this.#answeredAt <= instant;
  }

  /** Ends the connection. */
  cut(): void {
    // It is cut once; that it is gone is told in a later turn of the event loop.
    this.#answeredAt = undefined;
    endConnection(this.#response);
  }

  /** Gives everything back. */
  end(): void {
    this.#occupy(0);
    this.#hold(0);
    this.#ended = true;
  }

  #occupy(places: number): void {
    if (this.#ended) return;
    this.#load.count(places - this.#places, 0);
    this.#places = places;
  }

  #hold(bytes: number): void {
    // What comes after the end of the connection is held by nobody.
    if (this.#ended) return;
    this.#load.count(0, bytes - this.#bytes);
    this.#bytes = bytes;
  }
}
