import { type Command, Option } from "commander";
import { parseRate, parseShapes, parseWhole } from "../option-values.js";
import { jsonOption } from "../target.js";
import { printJson, type Terminal } from "../terminal.js";
import { addToTokensFile } from "../tokens-file-entry.js";

interface TokenOptions {
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  /** False with `--no-admin`. */
  readonly admin?: readonly string[] | boolean;
  readonly expiresAt?: string;
  readonly requestsPerSecond?: number;
  readonly requestsAtOnce?: number;
  readonly addTo?: string;
  readonly json?: boolean;
}

export function addTokenCommand(program: Command, terminal: Terminal): void {
  program
    .command("token <name>")
    .description("make a token for a server, and its entry for the tokens file")
    .addOption(new Option("--read <shapes>", 'shapes it may read, as a,b or "*"').argParser(parseShapes))
    .addOption(new Option("--write <shapes>", 'shapes it may change, as a,b or "*"').argParser(parseShapes))
    .addOption(
      new Option(
        "--admin <shapes>",
        'shapes it may administer, as a,b or "*", which is the server\'s numbers too; without it: as far as it reads and writes',
      ).argParser(parseShapes),
    )
    .option("--no-admin", "it may administer nothing")
    .option("--expires-at <instant>", 'as "2030-01-31T12:00:00Z"; else it never expires')
    .addOption(
      new Option("--requests-per-second <n>", "beyond that, 429; else the server's own bound").argParser(parseRate),
    )
    .addOption(
      new Option("--requests-at-once <n>", "waits and streams among them; else the server's own bound").argParser(
        parseWhole,
      ),
    )
    .option("--add-to <file>", "add the entry to this tokens file, which is made when it is not there")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      `
The token is shown this once: the file holds only its sha256. A server reads the file again when it changes. To replace a
token, add its successor under another name, have the clients use that one, and take the old entry out of the file.

To administer tool calls is to resolve, approve and forget them, and to write their records as documents. Workers that
keep their calls in the server by \`createClient\` do the latter; those that speak to /v1/tool-calls need it not.

Examples:
  oncekv token worker --read '*' --write tool-call --add-to tokens.json
  oncekv token caller --read tool-call --write tool-call --no-admin --add-to tokens.json
  oncekv token prometheus --admin '*' --add-to tokens.json
  oncekv serve --tokens tokens.json`,
    )
    .action((name: string, options: TokenOptions) => makeToken(terminal, name, options));
}

async function makeToken(terminal: Terminal, name: string, options: TokenOptions): Promise<void> {
  const { read = [], write = [], expiresAt, requestsPerSecond, requestsAtOnce, addTo } = options;
  const admin = options.admin === false ? [] : Array.isArray(options.admin) ? options.admin : undefined;
  const { newToken } = await import("../../server/access/new-token.js");
  const { token, entry } = newToken(name, {
    read,
    write,
    ...(admin === undefined ? {} : { admin }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    ...(requestsPerSecond === undefined ? {} : { requests_per_second: requestsPerSecond }),
    ...(requestsAtOnce === undefined ? {} : { requests_at_once: requestsAtOnce }),
  });
  // Before the token is shown: a token without its entry is of no use to anybody.
  if (addTo !== undefined) await addToTokensFile(addTo, entry);
  if (options.json === true) return printJson(terminal, { token, entry });
  await terminal.print(`token, shown this once: ${token}`);
  if (addTo !== undefined)
    await terminal.print(`${addTo} has its entry; a server that runs with this file takes it at once`);
  else await terminal.print(`a tokens file with its entry:\n${JSON.stringify({ tokens: [entry] }, undefined, 2)}`);
}
