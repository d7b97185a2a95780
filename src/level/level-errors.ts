import { OnceKvError, StoreClosedError } from "../base/errors.js";

/**
 * Turns an error of LevelDB, met while reading, into one of ours; any other error stays as it is. Writes have their own
 * way of failing (group-commit.ts), and so has opening a folder (open-folder.ts).
 */
export function fromLevel(error: unknown, where = "the database"): unknown {
  if (error instanceof OnceKvError || !(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  const isCorruption = code === "LEVEL_CORRUPTION" || /^(Corruption|IO error):/.test(error.message);
  if (isCorruption) {
    return new OnceKvError(
      "store_damaged",
      `${where} cannot be read (${error.message}). Run \`oncekv verify\` on the folder to see the extent, ` +
        "and `oncekv repair` to salvage it",
      { cause: error },
    );
  }
  const isClosed = typeof code === "string" && /^LEVEL_(DATABASE|ITERATOR|SNAPSHOT|BATCH)_NOT_OPEN$/.test(code);
  return isClosed ? new StoreClosedError() : error;
}
