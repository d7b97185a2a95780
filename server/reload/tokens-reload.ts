import type { TokenEntry } from "../access/token-entry.js";
import type { Tokens } from "../access/tokens.js";
import { readTokensFile } from "../access/tokens-file.js";
import type { Reloadable } from "./reloading.js";

/**
 * The tokens file of a running server. Unlike in the beginning it may hold no token any more: taking the last one away
 * must count. The log names tokens by their names.
 */
export function reloadableTokens(file: string, tokens: Tokens): Reloadable<readonly TokenEntry[]> {
  return {
    name: "the tokens file",
    label: "tokens",
    files: [file],
    read: () => readTokensFile(file, { mayBeEmpty: true }),
    textOf: (entries) => JSON.stringify(entries),
    take: (entries) => tokens.replace(entries),
  };
}
