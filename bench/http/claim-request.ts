import type { Condition, Fields } from "../../src/documents/contract.js";
import { claimFields } from "../claim-documents.js";

/** Every document that the load generator creates. */
export const loadFields: Fields = claimFields(1);

/** Under which it creates them. */
export const loadCondition: Condition = { exists: false };

/** The write id of a document's creation: unique as the id is, and as long as the UUID that the client takes. */
export function loadWriteId(id: string): string {
  return id.slice(11, 47);
}

/**
 * The request by which the client creates a document unless it exists, byte for byte. The bytes are made once for each
 * connection; from request to request only the id and the write id are filled in.
 */
export class ClaimRequest {
  readonly #bytes: Buffer;
  readonly #pathId: string;
  readonly #pathIdAt: number;
  readonly #keyAt: number;

  /** @param sampleId as long as all ids that will be filled in, with the same characters to be percent-encoded */
  constructor(options: { readonly url: string; readonly shape: string; readonly sampleId: string }) {
    const { url, shape, sampleId } = options;
    const body = JSON.stringify({ set: loadFields, if_match: loadCondition });
    const beforeId = `PUT /v1/documents/${shape}/`;
    this.#pathId = encodeURIComponent(sampleId);
    const beforeKey =
      `${beforeId}${this.#pathId} HTTP/1.1\r\nhost: ${new URL(url).host}\r\n` +
      "connection: keep-alive\r\nidempotency-key: ";
    this.#pathIdAt = beforeId.length;
    this.#keyAt = beforeKey.length;
    this.#bytes = Buffer.from(
      `${beforeKey}${loadWriteId(sampleId)}\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }

  /** The bytes of one request. The next call overwrites them, so the answer must have come by then. */
  bytesFor(id: string): Buffer {
    const pathId = encodeURIComponent(id);
    if (pathId.length !== this.#pathId.length) throw new RangeError(`the request has no room for the id ${id}`);
    this.#bytes.write(pathId, this.#pathIdAt, "latin1");
    this.#bytes.write(loadWriteId(id), this.#keyAt, "latin1");
    return this.#bytes;
  }
}
