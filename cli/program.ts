import { createRequire } from "node:module";
import { Command, CommanderError } from "commander";
import { InvalidRequestError } from "../src/base/errors.js";
import { addBackupCommand } from "./commands/backup.js";
import { addCallsCommand } from "./commands/calls.js";
import { addDeleteCommand } from "./commands/delete.js";
import { addGetCommand } from "./commands/get.js";
import { addGuardCommand } from "./commands/guard.js";
import { addListCommand } from "./commands/list.js";
import { addPatchCommand } from "./commands/patch.js";
import { addPutCommand } from "./commands/put.js";
import { addRepairCommand } from "./commands/repair.js";
import { addRestoreCommand } from "./commands/restore.js";
import { addServeCommand } from "./commands/serve.js";
import { addStatsCommand } from "./commands/stats.js";
import { addTokenCommand } from "./commands/token.js";
import { addVerifyCommand } from "./commands/verify.js";
import { addWatchCommand } from "./commands/watch.js";
import { exitCodeOf, exitCodes } from "./exit-codes.js";
import { EndedWith, reportFailure } from "./failure.js";
import { isGathered } from "./option-values.js";
import { beStrict } from "./strict-options.js";
import { isBrokenPipe, type Terminal } from "./terminal.js";

const commands = [
  addServeCommand,
  addGetCommand,
  addPutCommand,
  addPatchCommand,
  addDeleteCommand,
  addListCommand,
  addWatchCommand,
  addCallsCommand,
  addGuardCommand,
  addStatsCommand,
  addBackupCommand,
  addRestoreCommand,
  addVerifyCommand,
  addRepairCommand,
  addTokenCommand,
];

const overview = `
A document has a shape (its collection) and an id, fields (JSON), a revision, and if it was given one a time to live.
Commands go to the server at --url (ONCEKV_URL, with the token ONCEKV_TOKEN), or with --data to a folder without one.

Examples:
  oncekv serve                                                 in one terminal; then in another:
  oncekv put note 1 '{"text":"hello"}' --if-absent
  oncekv get note 1
  oncekv watch note
  oncekv calls list --status unknown

Exit codes:
  0  done
  1  it could not be done: folder locked or damaged, server out of reach, not allowed; problems found by verify,
     something lost in a repair
  2  it cannot be done as it was asked for: usage, a value that is refused, a size over a limit
  3  there is no such document
  4  a condition (--if-...) did not hold; nothing was written
  5  whether a write was applied is not known; the message says how to find out

oncekv help <command> tells more about each.`;

/**
 * Runs one command line; resolves with the exit code. What goes wrong is said, never thrown.
 *
 * @param mangled the place of an argument that is not as it was given, when there is one
 */
export async function runCommandLine(
  args: readonly string[],
  terminal: Terminal,
  mangled: (args: readonly string[]) => number | undefined = () => undefined,
): Promise<number> {
  const help: string[] = [];
  try {
    const place = mangled(args);
    if (place !== undefined) {
      throw new InvalidRequestError(
        "",
        `argument ${place} is not well-formed UTF-8; JSON of any form comes in from a file or the standard input`,
      );
    }
    await buildProgram(terminal, args, (text) => help.push(text)).parseAsync(args, { from: "user" });
    return exitCodes.done;
  } catch (thrown) {
    const error = isHelp(thrown) ? await show(terminal, help.join("")) : thrown;
    if (error === undefined || isBrokenPipe(error)) return exitCodes.done;
    if (error instanceof EndedWith) return error.exitCode;
    const failure = error instanceof CommanderError ? usageError(error) : error;
    reportFailure(terminal, failure, ownOptions(args).includes("--json"));
    return exitCodeOf(failure);
  }
}

/** Help and version end the parsing like an error. */
function isHelp(error: unknown): boolean {
  return error instanceof CommanderError && error.exitCode === 0;
}

/** @returns what went wrong in showing it */
function show(terminal: Terminal, text: string): Promise<unknown> {
  return terminal.print(text.trimEnd()).catch((error: unknown) => error);
}

/** Without what is for the program that `guard` starts. */
function ownOptions(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end === -1 ? args : args.slice(0, end);
}

/**
 * All commands with their options.
 *
 * @param args the command line that will be read
 * @param onHelp gets the help that is asked for
 */
export function buildProgram(
  terminal: Terminal,
  args: readonly string[] = [],
  onHelp: (text: string) => void = () => {},
): Command {
  const program = new Command("oncekv")
    .description("Documents with compare-and-swap and expiry, so that an effect happens once.")
    .usage("<command> [options]")
    .version(version())
    .addHelpText("after", overview);
  for (const addCommand of commands) addCommand(program, terminal);
  const nested = program.commands.flatMap((command) => command.commands);
  for (const command of [program, ...program.commands, ...nested]) {
    // The error is reported below like every other one.
    command.exitOverride().configureOutput({ outputError: () => {}, writeOut: onHelp });
    beStrict(command, isGathered, args);
  }
  return program;
}

/** By the package's own name, since its file lies elsewhere from the compiled program than from this one. */
function version(): string {
  const { version }: { version: string } = createRequire(import.meta.url)("oncekv/package.json");
  return version;
}

/** What commander says about a command line, as one of our own errors. */
function usageError(error: CommanderError): InvalidRequestError {
  // Without a command it shows its help and says no more than that.
  if (error.code === "commander.help") return new InvalidRequestError("", "a command is missing");
  const message = error.message.replace(/^error: /, "");
  return new InvalidRequestError("", `${message} (oncekv help tells more)`, { cause: error });
}
