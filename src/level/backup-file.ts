import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { OnceKvError } from "../base/errors.js";

/**
 * A backup: a line that names the format, a JSON line about the backup, then the documents as they are stored (key and
 * value, each behind its length), an end mark with their number, and a SHA-256 of everything before it.
 *
 * One that ends early, in a file or on its way over the network, lacks its end mark and its checksum, so it is never
 * taken for a whole one.
 */
const magic = "oncekv backup 1\n";
const documentMark = 1;
const endMark = 2;
const hashBytes = 32;
const bufferBytes = 256 * 1024;

/** What a backup says about itself. */
export interface BackupHeader {
  /** The snapshot that it holds. */
  readonly revision: number;
  /** ISO 8601, UTC, by the store's clock. */
  readonly taken_at: string;
}

/** Where the bytes of a backup go. */
export interface BackupSink {
  /** Takes the next bytes, about a quarter of a mebibyte; no more come until its promise resolves. */
  write(bytes: Buffer): Promise<void>;
}

/** Puts a backup's bytes together, and holds no more of them than a buffer and one document. */
export class BackupWriter {
  readonly #sink: BackupSink;
  readonly #hash = createHash("sha256");
  #chunks: Buffer[] = [];
  #bytes = 0;
  #documents = 0;
  #total = 0;

  constructor(sink: BackupSink, header: BackupHeader) {
    this.#sink = sink;
    this.#gather(Buffer.from(`${magic}${JSON.stringify(header)}\n`, "utf8"));
  }

  get documents(): number {
    return this.#documents;
  }

  async add(key: Buffer, value: Buffer): Promise<void> {
    const head = Buffer.allocUnsafe(9);
    head[0] = documentMark;
    head.writeUInt32BE(key.length, 1);
    head.writeUInt32BE(value.length, 5);
    this.#documents += 1;
    this.#gather(Buffer.concat([head, key, value]));
    if (this.#bytes >= bufferBytes) await this.#flush();
  }

  /** Completes the backup; resolves with its size in bytes when the sink has taken them all. */
  async finish(): Promise<number> {
    const end = Buffer.alloc(9);
    end[0] = endMark;
    end.writeDoubleBE(this.#documents, 1);
    this.#gather(end);
    await this.#flush();
    await this.#sink.write(this.#hash.digest());
    return this.#total + hashBytes;
  }

  #gather(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    this.#total += bytes.length;
    this.#hash.update(bytes);
    await this.#sink.write(bytes);
  }
}

/** Reads a backup from front to end. Throws `backup_invalid` when it is not whole; read to the end before you trust it. */
export async function* readBackup(file: string): AsyncGenerator<BackupHeader | { key: Buffer; value: Buffer }> {
  const source = new Source(file);
  try {
    const name = await source.take(magic.length, "its first line");
    if (name.toString("latin1") !== magic) throw invalid(file, "it does not begin as a backup of oncekv does");
    let line = "";
    while (!line.endsWith("\n")) line += (await source.take(1, "its second line")).toString("latin1");
    yield parseHeader(file, line);
    let documents = 0;
    for (;;) {
      const head = await source.take(9, "the next document");
      if (head[0] === endMark) {
        if (head.readDoubleBE(1) !== documents) throw invalid(file, "its number of documents is wrong");
        break;
      }
      if (head[0] !== documentMark) throw invalid(file, "it holds something that is not a document");
      const key = await source.take(head.readUInt32BE(1), "a document's key");
      yield { key, value: await source.take(head.readUInt32BE(5), "a document") };
      documents += 1;
    }
    const digest = source.digest();
    if (!digest.equals(await source.take(hashBytes, "its checksum"))) throw invalid(file, "its checksum is wrong");
    if (!(await source.isAtEnd())) throw invalid(file, "something follows behind its checksum");
  } finally {
    source.close();
  }
}

function parseHeader(file: string, line: string): BackupHeader {
  try {
    return JSON.parse(line) as BackupHeader;
  } catch (error) {
    throw invalid(file, "its second line is not JSON", error);
  }
}

/** The error for a file that cannot be restored. */
export function invalid(file: string, problem: string, cause?: unknown): OnceKvError {
  const details = cause === undefined ? {} : { cause };
  return new OnceKvError("backup_invalid", `${file} is not a whole backup: ${problem}`, details);
}

/** A file as a sequence of bytes, hashed as they are taken. */
class Source {
  readonly #file: string;
  readonly #stream: ReturnType<typeof createReadStream>;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #hash = createHash("sha256");
  #rest: Buffer = Buffer.alloc(0);

  constructor(file: string) {
    this.#file = file;
    this.#stream = createReadStream(file, { highWaterMark: bufferBytes });
    this.#chunks = this.#stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async take(count: number, what: string): Promise<Buffer> {
    if (this.#rest.length < count) {
      const parts = [this.#rest];
      let have = this.#rest.length;
      while (have < count) {
        const { done, value } = await this.#next();
        if (done === true) throw invalid(this.#file, `it ends within ${what}`);
        parts.push(value);
        have += value.length;
      }
      this.#rest = Buffer.concat(parts);
    }
    const taken = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    this.#hash.update(taken);
    return taken;
  }

  /** The hash of everything taken so far. */
  digest(): Buffer {
    return this.#hash.copy().digest();
  }

  async isAtEnd(): Promise<boolean> {
    return this.#rest.length === 0 && (await this.#next()).done === true;
  }

  close(): void {
    this.#stream.destroy();
  }

  async #next(): Promise<IteratorResult<Buffer>> {
    try {
      return await this.#chunks.next();
    } catch (error) {
      throw invalid(this.#file, `it cannot be read (${(error as Error).message})`, error);
    }
  }
}
