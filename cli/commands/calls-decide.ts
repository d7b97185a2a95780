import { type Command, Option } from "commander";
import { InvalidRequestError } from "../../src/base/errors.js";
import type { KnownOutcome, ToolCallRecord } from "../../src/tool-calls/index.js";
import { withCalls } from "../call-target.js";
import { readJsonValue } from "../json-argument.js";
import { parseSeconds } from "../option-values.js";
import { addTargetOptions, type TargetOptions } from "../target.js";
import { printJson, shownId, type Terminal } from "../terminal.js";

interface DecisionOptions extends TargetOptions {
  readonly by: string;
  readonly note?: string;
  readonly fingerprint?: string;
  readonly remember: number;
}

interface ResolveCommandOptions extends DecisionOptions {
  readonly result?: string;
  readonly error?: string;
  readonly notDone?: boolean;
}

interface ApproveCommandOptions extends DecisionOptions {
  readonly fingerprint: string;
}

/** The commands by which a person ends a doubt. */
export function addCallDecisionCommands(calls: Command, terminal: Terminal): void {
  addResolve(calls, terminal);
  addApprove(calls, terminal);
  addForget(calls, terminal);
}

function addDecisionOptions(command: Command): Command {
  command
    .requiredOption("--by <name>", "who decides; it stays in the record")
    .option("--note <text>", "why")
    .addOption(
      new Option("--remember <seconds>", "how long the outcome is remembered from now on")
        .argParser(parseSeconds)
        .default(3600),
    );
  return addTargetOptions(command);
}

function addResolve(calls: Command, terminal: Terminal): void {
  const command = calls
    .command("resolve <key>")
    .description("say what became of a call in doubt")
    .addOption(
      new Option(
        "--result <json>",
        "it was done, with this result; @FILE reads a file, - the standard input",
      ).conflicts(["error", "notDone"]),
    )
    .addOption(new Option("--error <text>", "it has definitely failed, without effect").conflicts("notDone"))
    .option("--not-done", "it was not done, and can no longer happen: the next caller fires")
    .option("--fingerprint <sha256>", "only if the record still has these arguments")
    .addHelpText(
      "after",
      `
For calls that are unknown, parked or lapsed. "Not there yet" is not --not-done: when the effect lands after all there
will be two.

Examples:
  oncekv calls resolve send_email:order-7 --result '{"message":"m-12"}' --by ann --note "found in the outbox"
  oncekv calls resolve charge:order-7 --error "the card was refused" --by ann`,
    );
  addDecisionOptions(command).action(async (key: string, options: ResolveCommandOptions) => {
    const known = await knownOutcome(terminal, options);
    const { by, note, fingerprint } = options;
    await withCalls(
      command,
      options,
      async (calls) => {
        await printDecision(terminal, await calls.resolve(key, known, { by, note, fingerprint }), options);
      },
      { completedTtl: options.remember, ...shorterThan(options.remember) },
    );
  });
}

async function knownOutcome(terminal: Terminal, options: ResolveCommandOptions): Promise<KnownOutcome> {
  const { result, error, notDone } = options;
  if (result !== undefined) return { result: await readJsonValue(terminal, result, "--result") };
  if (error !== undefined) return { error: { message: error } };
  if (notDone === true) return { not_done: true };
  throw new InvalidRequestError("", "one of --result, --error and --not-done is needed");
}

function addApprove(calls: Command, terminal: Terminal): void {
  const command = calls
    .command("approve <key>")
    .description("let a parked call go on")
    .requiredOption("--fingerprint <sha256>", "of the arguments that are approved; `calls show` has it")
    .addHelpText(
      "after",
      `
The next caller enters the tool, which finds the approval. To reject the call, resolve it with --error.

Example:
  oncekv calls approve charge:order-7 --fingerprint 5f0e... --by ann`,
    );
  addDecisionOptions(command).action((key: string, options: ApproveCommandOptions) => {
    const { by, note, fingerprint } = options;
    return withCalls(
      command,
      options,
      async (calls) => {
        await printDecision(terminal, await calls.approve(key, { by, note, fingerprint }), options);
      },
      { completedTtl: options.remember, ...shorterThan(options.remember) },
    );
  });
}

function addForget(calls: Command, terminal: Terminal): void {
  const command = calls
    .command("forget <key>")
    .description("delete the record of a call that nobody works on")
    .addHelpText(
      "after",
      `
The next call with its key is a new one, with any arguments. Forgetting what is not there is no error.

Example:
  oncekv calls forget send_email:order-7`,
    );
  addTargetOptions(command).action((key: string, options: TargetOptions) =>
    withCalls(command, options, async (calls) => {
      const forgotten = await calls.forget(key);
      if (options.json === true) return printJson(terminal, { forgotten });
      await terminal.print(forgotten ? `forgot ${shownId(key)}` : `there was no call ${shownId(key)}`);
    }),
  );
}

/** The other times are of no use here, but must not be longer than the outcome is remembered. */
function shorterThan(seconds: number): { pendingTtl: number; failedTtl: number; waitTimeout: number } {
  return { pendingTtl: Math.min(300, seconds), failedTtl: Math.min(300, seconds), waitTimeout: 0 };
}

async function printDecision(terminal: Terminal, record: ToolCallRecord, options: DecisionOptions): Promise<void> {
  if (options.json === true) return printJson(terminal, record);
  await terminal.print(`${shownId(record.key)} is ${record.status} now`);
}
