import { type Command, Option } from "commander";
import { InvalidRequestError, OnceKvError } from "../../src/base/errors.js";
import type { ToolCallListOptions, ToolCallPage, ToolCallStatus, ToolCalls } from "../../src/tool-calls/index.js";
import { statuses } from "../../src/tool-calls/record.js";
import { withCalls } from "../call-target.js";
import { printCall, printCallTable } from "../calls-text.js";
import { parseSeconds, parseWhole } from "../option-values.js";
import { addTargetOptions, type TargetOptions } from "../target.js";
import { printJson, shownId, type Terminal } from "../terminal.js";

interface ListCommandOptions extends TargetOptions {
  readonly tool?: string;
  readonly scope?: string;
  readonly status?: ToolCallStatus;
  readonly inDoubt?: boolean;
  readonly after?: string;
  readonly limit?: number;
  readonly all?: boolean;
}

interface WaitCommandOptions extends TargetOptions {
  readonly for: number;
}

/** The commands that change nothing. */
export function addCallReadCommands(calls: Command, terminal: Terminal): void {
  addList(calls, terminal);
  addShow(calls, terminal);
  addWait(calls, terminal);
}

function addList(calls: Command, terminal: Terminal): void {
  const command = calls
    .command("list")
    .description("show calls in the order of their keys")
    .option("--tool <name>", "only calls of this tool, in --scope or else in none")
    .option("--scope <name>", "only calls in this scope")
    .addOption(new Option("--status <status>", "only calls with this status").choices([...statuses]))
    .addOption(
      new Option("--in-doubt", "only calls that somebody must decide about before anybody fires again").conflicts(
        "status",
      ),
    )
    .option("--after <key>", "only keys beyond this one")
    .addOption(
      new Option("--limit <n>", "records looked at, at most 1000 (default: 100)")
        .argParser(parseWhole)
        .conflicts("all"),
    )
    .option("--all", "all pages, not only the first")
    .addHelpText(
      "after",
      `
LEFT is the time until a pending call lapses unless it is renewed, and for the others until it is forgotten. A lapsed
call is one whose worker has died or hung. All times are by the store's clock.

Examples:
  oncekv calls list --in-doubt --all
  oncekv calls list --tool send_email --all --json | jq -r .id`,
    );
  addTargetOptions(command).action((options: ListCommandOptions) =>
    withCalls(command, options, (calls) => listCalls(terminal, calls, options)),
  );
}

async function listCalls(terminal: Terminal, calls: ToolCalls, options: ListCommandOptions): Promise<void> {
  const { tool, scope, status, inDoubt, json, all } = options;
  const range: ToolCallListOptions = { tool, scope, status, inDoubt, limit: all === true ? 1000 : options.limit };
  let after = options.after;
  for (;;) {
    const page = await calls.list({ ...range, after });
    await printPage(terminal, page, json === true);
    if (page.next === null) return;
    if (all !== true) {
      const { next, revision } = page;
      terminal.note(
        json === true ? JSON.stringify({ next, revision }) : `there are more: --after ${shownId(next)}, or --all`,
      );
      return;
    }
    after = page.next;
  }
}

async function printPage(terminal: Terminal, page: ToolCallPage, asJson: boolean): Promise<void> {
  if (asJson) for (const call of page.calls) await printJson(terminal, call);
  else await printCallTable(terminal, page.calls);
  for (const key of page.malformed) terminal.note(`not the record of a tool call: ${shownId(key)}`);
}

function addShow(calls: Command, terminal: Terminal): void {
  const command = calls
    .command("show <key>")
    .description("show the record of a call")
    .addHelpText("after", "\nExample:\n  oncekv calls show send_email:order-7\n\nExit code 3: there is no such call.");
  addTargetOptions(command).action((key: string, options: TargetOptions) =>
    withCalls(command, options, async (calls) => {
      const call = await calls.get(key);
      if (call === undefined) throw noCall(key);
      await (options.json === true ? printJson(terminal, call) : printCall(terminal, call));
    }),
  );
}

function addWait(calls: Command, terminal: Terminal): void {
  const command = calls
    .command("wait <key>")
    .description("wait for what a call comes to, and print its result")
    .addOption(
      new Option("--for <seconds>", "how long, at most 3600; 0 is not at all").argParser(parseSeconds).default(30),
    )
    .addHelpText(
      "after",
      `
It never claims the call. Exit code 1 says that it failed, is parked or in doubt, or is still running in the end.

Example:
  oncekv calls wait send_email:order-7 --for 300`,
    );
  addTargetOptions(command).action((key: string, options: WaitCommandOptions) => {
    if (options.for > 3600) throw new InvalidRequestError("", "--for must be at most 3600 seconds");
    return withCalls(command, options, async (calls) => {
      const outcome = await calls.wait(key, { timeout: options.for });
      if (outcome === undefined) throw noCall(key);
      if (options.json === true) return printJson(terminal, outcome);
      const omitted =
        outcome.result_omitted === undefined ? "" : `, its result is not kept (${outcome.result_omitted})`;
      terminal.note(`done: attempt ${outcome.attempt}, called at ${outcome.original_called_at}${omitted}`);
      if (outcome.result !== undefined) await terminal.print(JSON.stringify(outcome.result, undefined, 2));
    });
  });
}

function noCall(key: string): OnceKvError {
  return new OnceKvError("not_found", `there is no call ${shownId(key)}`);
}
