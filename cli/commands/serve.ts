import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { ServeOptions } from "../../server/index.js";
import { OnceKvError } from "../../src/base/errors.js";
import { parsePort } from "../option-values.js";
import { type BoundValues, boundsOf, makeBoundOptions } from "../server-bounds.js";
import { acceptLossOption } from "../target.js";
import { printJson, type Terminal } from "../terminal.js";

interface ServeCommandOptions extends BoundValues {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly durability: "durable" | "buffered";
  readonly tokens?: string;
  readonly tlsKey?: string;
  readonly tlsCert?: string;
  readonly logLevel: NonNullable<ServeOptions["logLevel"]>;
  readonly acceptLoss?: boolean;
  readonly json?: boolean;
}

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

export function addServeCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("serve")
    .description("serve a folder over HTTP")
    .option("--host <address>", "where to listen; an address that other machines reach needs --tokens", "127.0.0.1")
    .addOption(new Option("--port <port>", "0: any that is free").argParser(parsePort).default(7070))
    .option("--data <folder>", "the folder; it is made when it is not there", "./data")
    .addOption(
      new Option("--durability <mode>", "durable: an answered write is on disk; buffered: it survives the process only")
        .choices(["durable", "buffered"])
        .default("durable"),
    )
    .option(
      "--tokens <file>",
      "the file with the tokens that requests must bear, read again when it changes; `oncekv token` makes entries",
    )
    .option("--tls-key <file>", "speak HTTPS, with this private key in PEM; read again when it changes")
    .option("--tls-cert <file>", "and this certificate in PEM, the server's own first and then its chain")
    .addOption(
      new Option("--log-level <level>", "lines as JSON on the standard output; info has one for every request")
        .choices(logLevels)
        .default("warn"),
    )
    .addOption(acceptLossOption())
    .addOption(new Option("--json", "the first line as JSON"))
    .addHelpText(
      "after",
      `
The first line says where it listens. SIGTERM and SIGINT end it in order: requests in flight are answered, waits too,
and the store is closed last. One process can have a folder open.

Examples:
  oncekv serve
  oncekv serve --port 0 --data /var/lib/oncekv
  oncekv serve --host 0.0.0.0 --tokens tokens.json --tls-key key.pem --tls-cert cert.pem`,
    )
    .action((options: ServeCommandOptions) => serveFolder(terminal, options));
  for (const option of makeBoundOptions()) command.addOption(option);
}

async function serveFolder(terminal: Terminal, options: ServeCommandOptions): Promise<void> {
  const { host, port, data, durability, tokens, tlsKey, tlsCert, logLevel, acceptLoss = false } = options;
  const { serve, closeOnSignals } = await import("../../server/index.js");
  const server = await serve({
    host,
    port,
    dataDir: data,
    durability,
    logLevel,
    acceptLoss,
    ...(tokens === undefined ? {} : { tokensFile: tokens }),
    ...(tlsKey === undefined ? {} : { tlsKeyFile: tlsKey }),
    ...(tlsCert === undefined ? {} : { tlsCertFile: tlsCert }),
    bounds: boundsOf(options),
  }).catch((error: unknown) => {
    throw explainAddress(error, host, port);
  });
  // Before the line that tells others that they may send signals.
  const closed = closeOnSignals(server);
  const folder = resolve(data);
  const said =
    options.json === true
      ? printJson(terminal, { url: server.url, data: folder })
      : terminal.print(`oncekv listens on ${server.url}, data in ${folder}`);
  await said.catch((error: unknown) => {
    // A full disk behind the standard output, or nobody who reads it: no reason not to serve.
    terminal.note(`oncekv: listens on ${server.url}; the standard output takes nothing: ${(error as Error).message}`);
  });
  const signal = await closed;
  terminal.note(`oncekv: closed after ${signal}`);
}

/** The system's own words for a port that is taken name no remedy. */
function explainAddress(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (error instanceof OnceKvError || typeof code !== "string") return error;
  const reasons: { readonly [code: string]: string } = {
    EADDRINUSE: "something listens there already; choose another --port, or 0 for any that is free",
    EACCES: "this user may not listen there; ports below 1024 need privileges",
    EADDRNOTAVAIL: "this machine has no such address",
    ENOTFOUND: "this machine has no such address",
  };
  const reason = reasons[code];
  return reason === undefined ? error : new Error(`cannot listen on ${host}:${port}: ${reason}`, { cause: error });
}
