import { WrongResultError } from "../checks.js";

/** One answer, as far as it is looked at. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

const length = /\r\ncontent-length: *(\d+)\r\n/i;

/**
 * Reads the answers of one connection on which one request at a time is under way. It knows the one form that the measured
 * servers answer in, a head with a content length, and takes bytes for characters: what is measured is the server, and
 * the reader shares the machine with it.
 */
export class AnswerReader {
  #text = "";

  /**
   * The answer, once it is complete.
   *
   * @throws WrongResultError when it is not in the form that is expected
   */
  read(bytes: Buffer): Answer | undefined {
    const text = this.#text + bytes.toString("latin1");
    this.#text = text;
    const headEnd = text.indexOf("\r\n\r\n");
    if (headEnd === -1) return undefined;
    const bodyLength = length.exec(text)?.[1];
    if (bodyLength === undefined) throw new WrongResultError(`an answer has no content length: ${text}`);
    const end = headEnd + 4 + Number(bodyLength);
    if (text.length < end) return undefined;
    if (text.length > end) throw new WrongResultError(`an answer is longer than it says: ${text}`);
    this.#text = "";
    return { status: Number(text.slice(9, 12)), body: text.slice(headEnd + 4) };
  }
}
