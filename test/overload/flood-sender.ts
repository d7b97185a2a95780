/*
 * Sends requests at a steady rate, whether or not the earlier ones have been answered: what many clients who do not know of
 * one another do to a server. A process of its own, so that it does not wait for whoever looks at the server meanwhile.
 */
import { Agent, request as httpRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

export interface FloodOrder {
  readonly port: number;
  readonly seconds: number;
  readonly requestsASecond: number;
  /** Requests that may be under way; beyond that none is begun, since each is an open file here. */
  readonly underWayMax: number;
  /** Of a hundred requests so many carry a body of `bodyBytes`, and so many ask for a large page. */
  readonly largeOfHundred: number;
  readonly pagesOfHundred: number;
  readonly bodyBytes: number;
}

/** What came back. Numbers are those of documents `flood/<n>`, each of which one request created. */
export interface FloodOutcome {
  readonly sent: number;
  /** Requests that were not begun since too many were under way. */
  readonly heldBack: number;
  readonly acknowledged: readonly number[];
  readonly refused: readonly number[];
  /** Neither: the connection broke. */
  readonly unknown: readonly number[];
  /** Answers that are none that an overloaded server may give, by their status, and those that name no time to come back. */
  readonly wrong: { readonly [answer: string]: number };
  readonly pages: number;
}

type Kind = "document" | "large" | "page";

const tickMs = 10;

class Sender {
  readonly #order: FloodOrder;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #large: Buffer;
  readonly #acknowledged: number[] = [];
  readonly #refused: number[] = [];
  readonly #unknown: number[] = [];
  readonly #wrong: { [answer: string]: number } = {};
  #sent = 0;
  #heldBack = 0;
  #pages = 0;
  #underWay = 0;

  constructor(order: FloodOrder) {
    this.#order = order;
    this.#large = Buffer.from(JSON.stringify({ set: { text: "x".repeat(order.bodyBytes) } }));
  }

  async send(): Promise<FloodOutcome> {
    const { seconds, requestsASecond, underWayMax } = this.#order;
    const begun = performance.now();
    const end = begun + seconds * 1000;
    let due = 0;
    while (performance.now() < end) {
      // By the clock and not by ticks: a late tick sends what was due meanwhile.
      const wanted = Math.floor(((performance.now() - begun) / 1000) * requestsASecond);
      for (; due < wanted; due++) {
        if (this.#underWay < underWayMax) this.#begin(this.#sent++);
        else this.#heldBack += 1;
      }
      await delay(tickMs);
    }
    while (this.#underWay > 0) await delay(tickMs);
    this.#agent.destroy();
    return {
      sent: this.#sent,
      heldBack: this.#heldBack,
      acknowledged: this.#acknowledged,
      refused: this.#refused,
      unknown: this.#unknown,
      wrong: this.#wrong,
      pages: this.#pages,
    };
  }

  #begin(n: number): void {
    const { port, largeOfHundred, pagesOfHundred } = this.#order;
    const place = n % 100;
    const kind: Kind = place < largeOfHundred ? "large" : place < largeOfHundred + pagesOfHundred ? "page" : "document";
    const body = { document: Buffer.from(`{"set":{"n":${n}}}`), large: this.#large, page: undefined }[kind];
    // Large documents are few and are written again and again, so that the disk stays small.
    const path = { document: `flood/${n}`, large: `large/${n % 40}`, page: "page?limit=100" }[kind];
    this.#underWay += 1;
    let ended = false;
    const finish = (status: number | undefined, comeBack: string | undefined) => {
      if (ended) return;
      ended = true;
      this.#underWay -= 1;
      this.#count(n, kind, status, comeBack);
    };
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port,
        agent: this.#agent,
        method: kind === "page" ? "GET" : "PUT",
        path: `/v1/documents/${path}`,
        headers:
          body === undefined ? {} : { "content-type": "application/json", "content-length": String(body.byteLength) },
      },
      (response) => {
        response.on("error", () => finish(undefined, undefined));
        response.on("end", () => finish(response.statusCode, response.headers["retry-after"]));
        response.resume();
      },
    );
    request.on("error", () => finish(undefined, undefined));
    request.end(body);
  }

  #count(n: number, kind: Kind, status: number | undefined, comeBack: string | undefined): void {
    const isRefused = status === 503 && Number(comeBack) > 0;
    const isDone = status === 200 || (status === 201 && kind !== "page");
    if (status !== undefined && !isRefused && !isDone) {
      const answer = status === 503 ? "503 without Retry-After" : String(status);
      this.#wrong[answer] = (this.#wrong[answer] ?? 0) + 1;
    }
    if (kind === "page" && isDone) this.#pages += 1;
    if (kind !== "document") return;
    if (isDone) this.#acknowledged.push(n);
    else if (isRefused) this.#refused.push(n);
    else this.#unknown.push(n);
  }
}

process.on("message", async (order: FloodOrder) => {
  process.send?.(await new Sender(order).send());
});
process.on("disconnect", () => process.exit(0));
