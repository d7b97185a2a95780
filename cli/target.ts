import { readdir } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { Client } from "../client/index.js";
import { readBoundedFile } from "../server/bounded-file.js";
import { InvalidRequestError, OnceKvError } from "../src/base/errors.js";
import type { EmbeddedStore } from "../src/level/index.js";
import { folderPath } from "./folder-path.js";
import { parseSeconds } from "./option-values.js";

/** What every command has that reads or changes documents. */
export interface TargetOptions {
  readonly url: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly data?: string;
  readonly acceptLoss?: boolean;
  readonly timeout: number;
  readonly retryFor: number;
  readonly json?: boolean;
}

/** A server at an address. */
export interface ServerTarget {
  readonly kind: "server";
  readonly store: Client;
  readonly url: string;
  readonly token: string | undefined;
  readonly ca: string | undefined;
  readonly timeout: number;
}

/** A folder that this process has open. */
interface FolderTarget {
  readonly kind: "folder";
  readonly store: EmbeddedStore;
  readonly folder: string;
}

export type Target = ServerTarget | FolderTarget;

const defaultUrl = "http://127.0.0.1:7070";

/** Adds `--url`, `--token`, `--token-file`, `--data` and what belongs to them. */
export function addTargetOptions(command: Command): Command {
  return command
    .addOption(new Option("--url <url>", "the server").env("ONCEKV_URL").default(defaultUrl).helpGroup("The store:"))
    .addOption(
      new Option(
        "--token <token>",
        "the server's token; other users of the machine can see it in the list of processes",
      )
        .conflicts("tokenFile")
        .helpGroup("The store:"),
    )
    .addOption(
      new Option("--token-file <file>", "a file with the token alone; ONCEKV_TOKEN serves too").helpGroup("The store:"),
    )
    .addOption(
      new Option("--ca <file>", "certificates, in PEM, by which to know a server at https://").helpGroup("The store:"),
    )
    .addOption(
      new Option(
        "--data <folder>",
        "work on this folder, without a server; no other process may have it open",
      ).helpGroup("The store:"),
    )
    .addOption(acceptLossOption())
    .addOption(
      new Option("--timeout <seconds>", "for one request to the server")
        .argParser(parseSeconds)
        .default(10)
        .helpGroup("The store:"),
    )
    .addOption(
      new Option("--retry-for <seconds>", "how long a request that fails is sent again, at most 30")
        .argParser(parseSeconds)
        .default(3)
        .helpGroup("The store:"),
    )
    .addOption(jsonOption());
}

export function jsonOption(): Option {
  return new Option("--json", "JSON for programs: one document a line; errors as JSON on the standard error");
}

export function acceptLossOption(): Option {
  return new Option("--accept-loss", "open the folder although acknowledged writes are known to be lost").helpGroup(
    "The store:",
  );
}

/** How a command uses a folder. */
export interface FolderUse {
  /** Whether a folder without a store gets one; for reading, that is more likely a mistyped path. */
  readonly create: boolean;
  /** Whether expired documents are taken off the disk meanwhile; `watch` hears of expiries only then. */
  readonly sweep: boolean;
}

/** Opens what the options name, acts on it, and closes it. */
export async function withTarget(
  command: Command,
  options: TargetOptions,
  use: FolderUse,
  act: (target: Target) => Promise<void>,
): Promise<void> {
  const target =
    options.data === undefined ? await openServer(command, options) : await openFolder(command, options, use);
  try {
    await act(target);
  } finally {
    await target.store.close();
  }
}

async function openServer(command: Command, options: TargetOptions): Promise<ServerTarget> {
  if (options.acceptLoss === true) {
    throw new InvalidRequestError("", "--accept-loss needs --data: a server decides about its own folder");
  }
  const token = await readToken(options);
  const { url, timeout, retryFor } = options;
  if (command.getOptionValueSource("url") === "env") checkAddress(url, "ONCEKV_URL");
  // Loaded when needed: what is not used would double the time that a command takes.
  const { createClient } = await import("../client/index.js");
  const ca = options.ca === undefined ? undefined : await readText(options.ca, "the file with the certificates");
  const known = { ...(token === undefined ? {} : { token }), ...(ca === undefined ? {} : { ca }) };
  const store = createClient({ url, timeout, retryFor, ...known });
  return { kind: "server", store, url, token, ca, timeout };
}

async function openFolder(command: Command, options: TargetOptions, use: FolderUse): Promise<FolderTarget> {
  const { data = "", acceptLoss = false } = options;
  if (command.getOptionValueSource("url") === "cli") {
    throw new InvalidRequestError("", "--url and --data exclude each other: a server, or a folder without one");
  }
  for (const [option, value] of [
    ["--token", options.token],
    ["--token-file", options.tokenFile],
    ["--ca", options.ca],
  ] as const) {
    if (value !== undefined)
      throw new InvalidRequestError("", `${option} is for a server, not for a folder without one`);
  }
  const folder = folderPath(data, "--data");
  if (!use.create) await requireStore(folder);
  const { openStore } = await import("../src/level/index.js");
  return { kind: "folder", store: await openStore({ dataDir: folder, acceptLoss, sweep: use.sweep }), folder };
}

/**
 * Refuses a folder without a database: opening it would make an empty one.
 *
 * @throws OnceKvError `store_unwritable`, or `store_damaged` when there is only a part of a database
 */
export async function requireStore(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    const reason =
      error.code === "ENOTDIR" ? "it is not a folder, or lies below something that is none" : error.message;
    throw new OnceKvError("store_unwritable", `${folder} cannot be read: ${reason}`, { cause: error });
  });
  // The file by which LevelDB itself tells whether there is a database.
  if (names.includes("CURRENT")) return;
  if (names.some((name) => name.startsWith("MANIFEST-") || name.endsWith(".ldb"))) {
    throw new OnceKvError("store_damaged", `the database in ${folder} lacks its file CURRENT; restore a backup`);
  }
  throw new OnceKvError(
    "store_unwritable",
    `there is no store in ${folder}; \`oncekv serve\`, \`put\` and \`restore\` make one`,
  );
}

/** An address from a variable, which nobody sees in the command line. @throws InvalidRequestError naming the variable */
function checkAddress(url: string, variable: string): void {
  if (URL.canParse(url)) return;
  throw new InvalidRequestError("", `the variable ${variable} must be a URL, as ${defaultUrl}, or not be set`);
}

async function readToken({ token, tokenFile }: TargetOptions): Promise<string | undefined> {
  if (token !== undefined) return checkToken(token, "--token");
  if (tokenFile !== undefined) {
    const text = await readText(tokenFile, "the token file");
    return checkToken(text.trim(), `the token file ${tokenFile}`);
  }
  const fromVariable = process.env["ONCEKV_TOKEN"] || undefined;
  return fromVariable === undefined ? undefined : checkToken(fromVariable, "the variable ONCEKV_TOKEN");
}

/** Judged here, where it is known what it came from. The message never shows it. */
function checkToken(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new InvalidRequestError("", `${source} must hold a token and nothing else: printable ASCII without spaces`);
}

async function readText(file: string, what: string): Promise<string> {
  try {
    return (await readBoundedFile(file)).toString("utf8");
  } catch (error) {
    throw new InvalidRequestError("", `${what} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
