import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { WrongResultError } from "../checks.js";
import { readAgain, type ScatteredIds } from "../claim-documents.js";
import { type Answer, AnswerReader } from "./answer-reader.js";
import { ClaimRequest } from "./claim-request.js";

/** Where load goes. */
export interface LoadTarget {
  readonly url: string;
  readonly shape: string;
  readonly connections: number;
}

/** How long a round is. Zero: the other one alone ends it. */
export interface LoadPlan {
  /** Milliseconds during which requests are begun. */
  readonly roundMs: number;
  readonly requestsPerConnection: number;
}

/** What a round gave. It crosses a process boundary. */
export interface LoadRound {
  /** Of each request, in milliseconds, from its sending to its whole answer. */
  readonly latenciesMs: Float64Array;
  readonly elapsedMs: number;
  /** The latest documents that were created, with the answers' bodies. */
  readonly created: readonly { readonly id: string; readonly body: string }[];
}

/** Milliseconds after the end of a round in which the last answers must have come. */
const patienceMs = 30_000;

/** A round that is under way. */
class RoundUnderWay {
  readonly plan: LoadPlan;
  readonly begun = performance.now();
  readonly #resolve: (round: LoadRound) => void;
  readonly #reject: (error: unknown) => void;
  readonly #giveUp: NodeJS.Timeout;
  readonly #created: { readonly id: string; readonly body: string }[] = [];
  #latenciesMs = new Float64Array(4096);
  #count = 0;
  #busy: number;

  constructor(
    plan: LoadPlan,
    connections: number,
    resolve: (round: LoadRound) => void,
    reject: (error: unknown) => void,
  ) {
    this.plan = plan;
    this.#busy = connections;
    this.#resolve = resolve;
    this.#reject = reject;
    const late = (): void => this.fail(new WrongResultError("requests stayed without an answer"));
    this.#giveUp = setTimeout(late, plan.roundMs + patienceMs);
  }

  add(latencyMs: number, id: string, body: string): void {
    if (this.#count === this.#latenciesMs.length) {
      const longer = new Float64Array(2 * this.#count);
      longer.set(this.#latenciesMs);
      this.#latenciesMs = longer;
    }
    this.#created[this.#count % readAgain] = { id, body };
    this.#latenciesMs[this.#count++] = latencyMs;
  }

  /** One connection has had its last answer. */
  rest(now: number): void {
    this.#busy -= 1;
    if (this.#busy > 0) return;
    clearTimeout(this.#giveUp);
    const latenciesMs = this.#latenciesMs.slice(0, this.#count);
    this.#resolve({ latenciesMs, elapsedMs: now - this.begun, created: this.#created });
  }

  fail(error: unknown): void {
    clearTimeout(this.#giveUp);
    this.#reject(error);
  }
}

/**
 * Creates documents on a server over a number of connections, each of which sends its next request when the last one has
 * been answered. It works on the sockets themselves: the server gets what our client would send, and as much of the
 * machine as possible.
 */
export class LoadGenerator {
  readonly #connections: readonly LoadConnection[];

  /**
   * Opens the connections; rejects when the server cannot be reached.
   *
   * @param ids of the documents; none may ever have been created on this server, since their write ids come from them
   */
  static async connect(target: LoadTarget, ids: ScatteredIds): Promise<LoadGenerator> {
    const connections = Array.from({ length: target.connections }, () => new LoadConnection(target, ids));
    const generator = new LoadGenerator(connections);
    try {
      await Promise.all(connections.map((connection) => connection.opened()));
      return generator;
    } catch (error) {
      generator.close();
      throw error;
    }
  }

  private constructor(connections: readonly LoadConnection[]) {
    this.#connections = connections;
  }

  /** Rejects at the first answer that is not the one expected, and when a connection ends. The generator is useless then. */
  run(plan: LoadPlan): Promise<LoadRound> {
    return new Promise((resolve, reject) => {
      const round = new RoundUnderWay(plan, this.#connections.length, resolve, reject);
      for (const connection of this.#connections) connection.begin(round);
    });
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

class LoadConnection {
  readonly #ids: ScatteredIds;
  readonly #request: ClaimRequest;
  readonly #reader = new AnswerReader();
  readonly #socket: Socket;
  #round: RoundUnderWay | undefined;
  #sent = 0;
  #begun = 0;
  #id = "";
  #ended: Error | undefined;

  constructor({ url, shape }: LoadTarget, ids: ScatteredIds) {
    this.#ids = ids;
    this.#request = new ClaimRequest({ url, shape, sampleId: ids.next() });
    const { hostname: host, port } = new URL(url);
    const buffer = Buffer.allocUnsafe(16 * 1024);
    this.#socket = connect({
      host,
      port: Number(port),
      noDelay: true,
      // Without a stream in between, and without a new buffer for every answer.
      onread: { buffer, callback: (length) => this.#read(buffer.subarray(0, length)) },
    });
    this.#socket.on("error", (error) => this.#end(error));
    this.#socket.on("close", () => this.#end(new WrongResultError("the server has closed a connection")));
  }

  async opened(): Promise<void> {
    if (this.#socket.connecting) await once(this.#socket, "connect");
  }

  begin(round: RoundUnderWay): void {
    this.#round = round;
    this.#sent = 0;
    if (this.#ended === undefined) this.#send(performance.now());
    else round.fail(this.#ended);
  }

  close(): void {
    this.#round = undefined;
    this.#socket.destroy();
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#round?.fail(this.#ended);
  }

  #send(now: number): void {
    this.#id = this.#ids.next();
    this.#begun = now;
    this.#sent += 1;
    this.#socket.write(this.#request.bytesFor(this.#id));
  }

  #read(bytes: Buffer): boolean {
    try {
      const answer = this.#reader.read(bytes);
      if (answer !== undefined) this.#take(answer);
    } catch (error) {
      this.#round?.fail(error);
    }
    return true;
  }

  #take({ status, body }: Answer): void {
    const round = this.#round;
    if (round === undefined || status !== 201) {
      throw new WrongResultError(`${this.#id} had to be created, but the answer is ${status}: ${body}`);
    }
    const now = performance.now();
    round.add(now - this.#begun, this.#id, body);
    const { roundMs, requestsPerConnection } = round.plan;
    const isOver =
      (roundMs > 0 && now - round.begun >= roundMs) ||
      (requestsPerConnection > 0 && this.#sent >= requestsPerConnection);
    if (isOver) {
      this.#round = undefined;
      round.rest(now);
    } else this.#send(now);
  }
}
