import { access, rename, rm, writeFile } from "node:fs/promises";
import type { TokenEntry } from "../server/access/token-entry.js";
import { parseTokens, readTokensFile } from "../server/access/tokens-file.js";
import { InvalidRequestError } from "../src/base/errors.js";

/**
 * Adds an entry to a tokens file, which is made when it is not there. The new file takes the place of the old one at
 * once, so that a server never reads half of it; only its owner may read it.
 *
 * @throws InvalidRequestError when the file is not a tokens file, or has an entry of this name already
 */
export async function addToTokensFile(file: string, entry: TokenEntry): Promise<void> {
  const before = (await exists(file)) ? await readTokensFile(file, { mayBeEmpty: true }) : [];
  if (before.some(({ name }) => name === entry.name)) {
    throw new InvalidRequestError(
      "",
      `the tokens file ${file} has an entry named ${JSON.stringify(entry.name)} already`,
    );
  }
  const tokens = [...before, entry];
  parseTokens({ tokens });
  const partial = `${file}.${process.pid}.partial`;
  try {
    await writeFile(partial, `${JSON.stringify({ tokens }, undefined, 2)}\n`, { mode: 0o600, flush: true });
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
