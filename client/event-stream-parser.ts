import { StringDecoder } from "node:string_decoder";

/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** `message` when the stream named none. */
  readonly type: string;
  /** The id of this event or the last one before it; empty when there was none. */
  readonly id: string;
  readonly data: string;
}

/** Characters of one event. The largest commit is a batch of 8 MiB, six characters a byte when all is escaped. */
const eventLengthMax = 64 * 1024 * 1024;

/**
 * Reads a `text/event-stream` in pieces as they arrive. Lines end with CR, LF or both; an empty line ends an event:
 *
 *     id: 7
 *     data: {"revision":7,
 *     data: "changes":[]}
 *
 * is one event with the id `7` and two lines of data. A line that begins with a colon is a comment. An event that the
 * stream ends in the middle of is dropped, so that a cut connection never yields half of a commit.
 */
export class EventStreamParser {
  readonly #decoder = new StringDecoder("utf8");
  /** Pieces of the line that is not complete yet. Kept apart, so that a long line is joined once. */
  #line: string[] = [];
  #lineLength = 0;
  #data: string[] = [];
  #dataLength = 0;
  #type = "";
  #id = "";
  #endedWithCarriageReturn = false;
  #atStart = true;
  readonly #lengthMax: number;

  /** @param lengthMax characters of one event */
  constructor(lengthMax: number = eventLengthMax) {
    this.#lengthMax = lengthMax;
  }

  /** The events that this piece completes. Throws a RangeError when an event grows beyond any that a server sends. */
  push(chunk: Uint8Array): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    let text = this.#decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (text === "") return events;
    if (this.#atStart) {
      this.#atStart = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    let from = 0;
    // A line feed that follows the carriage return of the piece before is the same line's end.
    if (this.#endedWithCarriageReturn && text.charCodeAt(0) === 0x0a) from = 1;
    this.#endedWithCarriageReturn = false;
    for (;;) {
      const end = lineEnd(text, from);
      if (end === -1) break;
      this.#keep(text.slice(from, end));
      this.#endLine(events);
      from = end + 1;
      if (text.charCodeAt(end) === 0x0d) {
        if (from === text.length) this.#endedWithCarriageReturn = true;
        else if (text.charCodeAt(from) === 0x0a) from += 1;
      }
    }
    if (from < text.length) this.#keep(text.slice(from));
    return events;
  }

  #keep(piece: string): void {
    this.#lineLength += piece.length;
    if (this.#lineLength + this.#dataLength > this.#lengthMax) {
      throw new RangeError(`an event of the stream is longer than ${this.#lengthMax} characters`);
    }
    this.#line.push(piece);
  }

  #endLine(events: ServerSentEvent[]): void {
    const line = this.#line.length === 1 ? (this.#line[0] ?? "") : this.#line.join("");
    this.#line = [];
    this.#lineLength = 0;
    if (line === "") {
      if (this.#data.length > 0) {
        events.push({ type: this.#type === "" ? "message" : this.#type, id: this.#id, data: this.#data.join("\n") });
      }
      this.#data = [];
      this.#dataLength = 0;
      this.#type = "";
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1);
    if (name === "data") {
      this.#data.push(value);
      this.#dataLength += value.length;
    } else if (name === "event") {
      this.#type = value;
    } else if (name === "id" && !value.includes("\0")) {
      this.#id = value;
    }
  }
}

/** Where the next line ends: the index of its CR or LF, or -1. */
function lineEnd(text: string, from: number): number {
  const feed = text.indexOf("\n", from);
  // Servers end lines with a line feed; only then is a search for a carriage return bounded by the line.
  const carriage = feed === -1 ? text.indexOf("\r", from) : text.slice(from, feed).indexOf("\r");
  if (carriage === -1) return feed;
  return feed === -1 ? carriage : from + carriage;
}
