import { type Command, Option } from "commander";
import { parseShapes } from "../option-values.js";
import { jsonOption } from "../target.js";
import { printJson, type Terminal } from "../terminal.js";
import { addToTokensFile } from "../tokens-file-entry.js";

interface TokenOptions {
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  readonly expiresAt?: string;
  readonly addTo?: string;
  readonly json?: boolean;
}

export function addTokenCommand(program: Command, terminal: Terminal): void {
  program
    .command("token <name>")
    .description("make a token for a server, and its entry for the tokens file")
    .addOption(new Option("--read <shapes>", 'shapes it may read, as a,b or "*"').argParser(parseShapes))
    .addOption(new Option("--write <shapes>", 'shapes it may change, as a,b or "*"').argParser(parseShapes))
    .option("--expires-at <instant>", 'as "2030-01-31T12:00:00Z"; else it never expires')
    .option("--add-to <file>", "add the entry to this tokens file, which is made when it is not there")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      `
The token is shown this once: the file holds only its sha256. A server reads the file when it starts.

Examples:
  oncekv token worker --read '*' --write tool-call --add-to tokens.json
  oncekv serve --tokens tokens.json`,
    )
    .action((name: string, options: TokenOptions) => makeToken(terminal, name, options));
}

async function makeToken(terminal: Terminal, name: string, options: TokenOptions): Promise<void> {
  const { read = [], write = [], expiresAt, addTo } = options;
  const { newToken } = await import("../../server/access/new-token.js");
  const { token, entry } = newToken(name, {
    read,
    write,
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  });
  // Before the token is shown: a token without its entry is of no use to anybody.
  if (addTo !== undefined) await addToTokensFile(addTo, entry);
  if (options.json === true) return printJson(terminal, { token, entry });
  await terminal.print(`token, shown this once: ${token}`);
  if (addTo !== undefined)
    await terminal.print(`${addTo} has its entry; a server that runs must be started anew to read it`);
  else await terminal.print(`a tokens file with its entry:\n${JSON.stringify({ tokens: [entry] }, undefined, 2)}`);
}
