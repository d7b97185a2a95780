import { type Command, Option } from "commander";
import { systemClock } from "../../src/base/clock.js";
import { InvalidRequestError } from "../../src/base/errors.js";
import { exitCodes } from "../exit-codes.js";
import { EndedWith } from "../failure.js";
import { readHeaders } from "../guard/http-headers.js";
import type { ServerLink } from "../guard/server-link.js";
import { defaultFolder, makeDefaultFolder, readAddress, type ServerSource, serverName } from "../guard/server-name.js";
import { readRules, type ToolRules } from "../guard/tool-judgement.js";
import { gather, parseSeconds } from "../option-values.js";
import { acceptLossOption, jsonOption, type TargetOptions } from "../target.js";
import type { Terminal } from "../terminal.js";

interface GuardCommandOptions {
  readonly http?: string;
  readonly header: readonly string[];
  readonly headerEnv: readonly string[];
  readonly explain?: boolean;
  readonly leave: readonly string[];
  readonly guard: readonly string[];
  readonly policy: readonly string[];
  readonly errors: readonly string[];
  readonly window: number;
  readonly scope?: string;
  readonly data?: string;
  readonly url?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly acceptLoss?: boolean;
  readonly timeout: number;
  readonly retryFor: number;
  readonly json?: boolean;
}

/** Longest time that a call may be remembered, in seconds: ten years, far below what a store takes. */
const windowMax = 315_360_000;

export function addGuardCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("guard [command...]")
    .description("stand between an MCP client and a server, so that a tool call fires once")
    .usage("[options] -- <command of the server>")
    .option("--http <url>", "the server is at this address (Streamable HTTP), instead of a command")
    .option("--header <header>", '"Name: value" for each request to --http; may be given several times', gather, [])
    .option("--header-env <variable>", "an environment variable with such a header, for secrets", gather, [])
    .option("--explain", "list the server's tools, what would be done with each, and why; nothing is called")
    .option("--leave <tool>", "pass its calls through, whatever it looks like", gather, [])
    .option("--guard <tool>", "guard its calls, whatever it looks like", gather, [])
    .option("--policy <tool=policy>", "of a call in doubt: review (closed until resolved) or refire", gather, [])
    .option(
      "--errors <tool=meaning>",
      "of a result with isError: completed (kept like any other), retryable (nothing was done), failed or unknown",
      gather,
      [],
    )
    .addOption(new Option("--window <seconds>", "how long a call is remembered").argParser(parseSeconds).default(600))
    .option(
      "--scope <name>",
      "the name that the server's calls are kept under (default: made of its command, or of its address and headers)",
    );
  addStoreOptions(command)
    .addOption(jsonOption())
    .addHelpText(
      "after",
      `
The client starts this command and speaks MCP with it over its standard input and output. Everything is passed through but
the calls of tools with side effects: a second call with equal arguments within --window gets the first one's result.

Examples:
  oncekv guard -- npx -y @modelcontextprotocol/server-filesystem /data
  oncekv guard --explain -- npx -y @modelcontextprotocol/server-filesystem /data
  oncekv guard --policy write_file=refire --leave create_directory -- npx -y @modelcontextprotocol/server-filesystem /data
  oncekv guard --http https://mcp.example.com/mcp --header-env MCP_AUTHORIZATION

Exit code: that of the server when it ends first, 0 when the client does.`,
    )
    .action((server: readonly string[], options: GuardCommandOptions) => guard(command, terminal, server, options));
}

/** As `addTargetOptions`, but that without any of them the calls are in a folder of their own. */
function addStoreOptions(command: Command): Command {
  const options = [
    new Option(
      "--data <folder>",
      "the folder of the calls (default: one for this server in ~/.local/state/oncekv/guard)",
    ),
    new Option("--url <url>", "a server of oncekv that keeps the calls, instead of a folder").env("ONCEKV_URL"),
    new Option(
      "--token <token>",
      "the server's token; other users of the machine can see it in the list of processes",
    ).conflicts("tokenFile"),
    new Option("--token-file <file>", "a file with the token alone; ONCEKV_TOKEN serves too"),
    acceptLossOption(),
    new Option("--timeout <seconds>", "for one request to the server").argParser(parseSeconds).default(10),
    new Option("--retry-for <seconds>", "how long a request that fails is sent again, at most 30")
      .argParser(parseSeconds)
      .default(3),
  ];
  for (const option of options) command.addOption(option.helpGroup("The store:"));
  return command;
}

async function guard(
  command: Command,
  terminal: Terminal,
  server: readonly string[],
  options: GuardCommandOptions,
): Promise<void> {
  const rules = readRules(options);
  const source = sourceOf(server, options);
  if (options.window === 0 || options.window > windowMax) {
    throw new InvalidRequestError("", `--window must be more than 0 and at most ${windowMax} seconds`);
  }
  if (options.scope === "") throw new InvalidRequestError("", "--scope must not be empty");
  if (options.explain === true) {
    const { explainServer } = await import("../guard/explain.js");
    return explainServer(terminal, await open(terminal, source), rules, systemClock, options.json === true);
  }
  await stand(command, terminal, source, rules, options);
}

function sourceOf(command: readonly string[], { http, header, headerEnv }: GuardCommandOptions): ServerSource {
  if (http !== undefined) {
    if (command.length > 0) throw new InvalidRequestError("", "--http and a command exclude each other");
    return { url: readAddress(http), headers: readHeaders(header, headerEnv, process.env) };
  }
  if (header.length + headerEnv.length > 0) throw new InvalidRequestError("", "--header needs --http");
  if (command.length === 0) {
    throw new InvalidRequestError(
      "",
      "the command of the server is missing: oncekv guard -- <command>, or --http <url>",
    );
  }
  return { command, folder: process.cwd() };
}

async function open(terminal: Terminal, source: ServerSource): Promise<ServerLink> {
  if ("command" in source) {
    const { startServer } = await import("../guard/server-process.js");
    return startServer(source.command, systemClock);
  }
  const { connectHttp } = await import("../guard/http-link.js");
  return connectHttp(source.url, source.headers, (text) => terminal.note(text), systemClock);
}

async function stand(
  command: Command,
  terminal: Terminal,
  source: ServerSource,
  rules: ToolRules,
  options: GuardCommandOptions,
): Promise<void> {
  const name = serverName(source, options.scope);
  const target = targetOf(options, name);
  if (target.data !== undefined && options.data === undefined) await makeDefaultFolder(target.data);
  const { runProxy } = await import("../guard/proxy.js");
  const { withGuardedCalls } = await import("../guard/store.js");
  let exitCode: number = exitCodes.done;
  const stopped = stopSignal();
  await withGuardedCalls(command, target, stopped, async (calls) => {
    const server = await open(terminal, source);
    const where = target.data === undefined ? `on ${target.url}` : `in ${target.data}`;
    terminal.note(`oncekv guard: guards ${server.name}; its calls are kept ${where}`);
    exitCode = await runProxy({
      client: { input: process.stdin, output: process.stdout },
      server,
      guard: { calls, scope: options.scope ?? name, window: options.window },
      rules,
      clock: systemClock,
      note: (text) => terminal.note(text),
      stopped,
    });
  });
  // A client that has said nothing more would keep this program waiting for it.
  process.stdin.destroy();
  throw new EndedWith(exitCode);
}

function targetOf(options: GuardCommandOptions, name: string): TargetOptions {
  const { url, data, acceptLoss, token, tokenFile, timeout, retryFor } = options;
  const folder = data ?? (url === undefined ? defaultFolder(name, process.env) : undefined);
  return {
    url: url ?? "",
    timeout,
    retryFor,
    ...(folder === undefined ? {} : { data: folder }),
    ...(acceptLoss === undefined ? {} : { acceptLoss }),
    ...(token === undefined ? {} : { token }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
  };
}

/** Resolves when the operating system asks this program to end. Asked twice, it still ends in order. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => resolve(signal));
  });
}
