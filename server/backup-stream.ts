import type { ServerResponse } from "node:http";
import type { Clock } from "../src/base/clock.js";
import type { BackupSink } from "../src/level/index.js";
import type { LongRequest } from "./long-requests.js";
import { endConnection } from "./pending-answers.js";

interface BackupStreamOptions {
  readonly clock: Clock;
  /** Milliseconds that a reader may take nothing: it holds a snapshot, and keeps others from their backup. */
  readonly stallMs: number;
  /** Called before the first byte. */
  readonly onBegin: () => void;
}

/** The media type of a backup. */
export const backupType = "application/vnd.oncekv.backup";

/**
 * A backup on its way to a reader, no faster than the reader takes it. It begins with the first bytes, so that what is
 * wrong before them is still answered as an error; and it is ended in order only when all of it was sent. A reader whose
 * transfer ends otherwise has no whole backup, and sees that from the transfer and from the missing end mark alike.
 */
export class BackupStream implements BackupSink {
  readonly #response: ServerResponse;
  readonly #request: LongRequest;
  readonly #options: BackupStreamOptions;
  #begun = false;

  constructor(response: ServerResponse, request: LongRequest, options: BackupStreamOptions) {
    this.#response = response;
    this.#request = request;
    this.#options = options;
  }

  /** Whether the reader has been sent anything. */
  get begun(): boolean {
    return this.#begun;
  }

  async write(bytes: Buffer): Promise<void> {
    this.#request.signal.throwIfAborted();
    if (!this.#begun) this.#begin();
    const response = this.#response;
    if (response.write(bytes)) return;
    await new Promise<void>((resolve, reject) => {
      const cancelStall = this.#options.clock.setTimer(this.#options.stallMs, () => this.#request.end("stall"));
      const settle = (): void => {
        cancelStall();
        response.off("drain", settle);
        this.#request.signal.removeEventListener("abort", settle);
        if (this.#request.signal.aborted) reject(this.#request.signal.reason as Error);
        else resolve();
      };
      response.on("drain", settle);
      this.#request.signal.addEventListener("abort", settle);
    });
  }

  /** The backup is whole. */
  end(): void {
    this.#response.end();
  }

  /** It is not, and the reader is to know: a transfer without its end. */
  cut(): void {
    endConnection(this.#response);
  }

  #begin(): void {
    this.#begun = true;
    this.#options.onBegin();
    // The end of the connection is told by `close`; an error that nobody listens to would end the process.
    this.#response.on("error", () => {});
    this.#response.writeHead(200, {
      "content-type": backupType,
      "content-disposition": 'attachment; filename="oncekv.okv"',
      "cache-control": "no-store",
      // Proxies of the nginx kind would write it all to their disk first.
      "x-accel-buffering": "no",
      connection: "close",
    });
  }
}
