import type { FastifyBaseLogger } from "fastify";
import type { ReloadCount } from "./reload-count.js";
import { WatchedFiles, type WatchedFilesOptions } from "./watched-files.js";

/** Something that is read from files, and again when they change. */
export interface Reloadable<T> {
  /** For the log: "the tokens file". */
  readonly name: string;
  /** For the label of a metric: "tokens". */
  readonly label: string;
  readonly files: readonly string[];
  /** Reads and judges; rejects with what is wrong, in words that hold nothing of the content. */
  readonly read: () => Promise<T>;
  /** The same text for the same content. */
  readonly textOf: (value: T) => string;
  /** Takes it from now on, and returns what to log about it. */
  readonly take: (value: T) => object;
}

export interface ReloadOptions extends WatchedFilesOptions {
  readonly logger: FastifyBaseLogger;
  /** Is told of refusals; nobody when absent. */
  readonly count?: ReloadCount;
}

/**
 * Reads files again whenever they change, for as long as it is not closed. What is not valid is refused, with a warning,
 * and the value before stays: a file that an editor has half written must not lock anybody out.
 *
 * @param current what has been read last
 */
export function reloadWhenChanged<T>(
  reloadable: Reloadable<T>,
  current: T,
  { logger, count, ...options }: ReloadOptions,
): WatchedFiles {
  const { name, label, files, read, textOf, take } = reloadable;
  let taken = textOf(current);
  let refusal: string | undefined;
  count?.follow(label);
  const look = async (): Promise<void> => {
    try {
      const value = await read();
      const text = textOf(value);
      if (text === taken && refusal === undefined) return;
      const details = text === taken ? {} : take(value);
      taken = text;
      refusal = undefined;
      count?.accepted(label);
      logger.info({ ...details, files }, `${name} was read again`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // Told once, not at every look.
      if (reason !== refusal) {
        count?.refused(label);
        logger.warn({ files, reason }, `${name} was refused, and what was read before stays`);
      }
      refusal = reason;
    }
  };
  return new WatchedFiles(files, look, options);
}
