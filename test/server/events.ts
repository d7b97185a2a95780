import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { Commit } from "../../src/documents/contract.js";

/** One server-sent event. */
export interface SentEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Commit;
}

/** A reader of `/v1/changes` that understands as much of the format as the standard asks of one. */
export class EventReader {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Comments received so far. */
  comments = 0;
  readonly #request: ClientRequest;
  readonly #response: IncomingMessage;
  readonly #chunks: AsyncIterator<string>;
  #text = "";

  private constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request;
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.setEncoding("utf8");
    this.#chunks = response[Symbol.asyncIterator]() as AsyncIterator<string>;
  }

  static open(port: number, path: string, headers: Record<string, string> = {}): Promise<EventReader> {
    return new Promise((resolve, reject) => {
      const request = httpRequest({ host: "127.0.0.1", port, path, headers, agent: false }, (response) =>
        resolve(new EventReader(request, response)),
      );
      request.on("error", reject);
      request.end();
    });
  }

  /** The next event; undefined when the stream has ended. */
  async next(): Promise<SentEvent | undefined> {
    for (;;) {
      const block = await this.#block();
      if (block === undefined) return undefined;
      const members = new Map<string, string>();
      for (const line of block.split("\n")) {
        const colon = line.indexOf(":");
        if (colon === 0) this.comments += 1;
        else members.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
      }
      const data = members.get("data");
      if (data === undefined) return { event: "comment", id: undefined, data: { revision: 0, changes: [] } };
      return {
        event: members.get("event") ?? "message",
        id: members.get("id"),
        data: JSON.parse(data) as Commit,
      };
    }
  }

  /** The next event that is a commit with changes. */
  async nextCommit(): Promise<Commit> {
    for (;;) {
      const event = await this.next();
      if (event === undefined) throw new Error("the stream has ended");
      if (event.event === "error") throw new Error(`the stream failed: ${JSON.stringify(event.data)}`);
      if (event.event === "message") return event.data;
    }
  }

  /** The whole rest of the body, for an answer that is no stream. */
  async body(): Promise<string> {
    let text = this.#text;
    for (let step = await this.#chunks.next(); step.done !== true; step = await this.#chunks.next()) text += step.value;
    return text;
  }

  /** Stops reading, as a slow reader does. */
  pause(): void {
    this.#response.pause();
  }

  /** Goes away. */
  close(): void {
    this.#request.destroy();
  }

  async #block(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end !== -1) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return block;
      }
      const step = await this.#chunks.next();
      if (step.done === true) return undefined;
      this.#text += step.value;
    }
  }
}
