import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { OnceKvError } from "../src/base/errors.js";
import type { DocumentStore } from "../src/documents/contract.js";
import { openStore, type StoreOptions } from "../src/level/index.js";
import type { TokenEntry } from "./access/tokens.js";
import { readTokensFile } from "./access/tokens-file.js";
import { createServer, type ServerOptions } from "./create-server.js";
import { addressUrl, checkListenAddress } from "./listen-address.js";

/** Where and how to listen. */
export interface ListenOptions extends Omit<ServerOptions, "store" | "tokens" | "logger"> {
  /** 127.0.0.1 when absent. An address that other machines reach needs tokens. */
  readonly host?: string;
  /** 7070 when absent; 0: any that is free. */
  readonly port?: number;
  /** The file with the tokens; absent: everybody may do everything. */
  readonly tokensFile?: string;
  /** The least grave line that is logged, to the standard output; "info" when absent, "silent" for none. */
  readonly logLevel?: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
}

/** What is served: an open store, which stays open, or a folder, which is opened and in the end closed. */
export type ServeOptions = ListenOptions & ({ readonly store: DocumentStore } | StoreOptions);

/** A server that listens. */
export interface RunningServer {
  /** As `http://127.0.0.1:7070`. */
  readonly url: string;
  /** Drains, then closes the store if `serve` opened it. A second call waits for the first. */
  close(): Promise<void>;
}

/**
 * Opens the store, and listens.
 *
 * Rejects with `invalid_request` for an address that needs tokens and for a faulty tokens file, with the errors of
 * `openStore`, and with the system's error when the port is taken.
 */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", port = 7070, tokensFile } = options;
  checkListenAddress(host, tokensFile !== undefined);
  const tokens = tokensFile === undefined ? undefined : await readTokensFile(tokensFile);
  const opened = "store" in options ? undefined : await openStore(options);
  const store = "store" in options ? options.store : opened;
  if (store === undefined) throw new OnceKvError("internal", "there is no store to serve");
  const app = createServer({ ...serverOptions(options, tokens), store });
  const closeAll = async (): Promise<void> => {
    await app.close();
    await opened?.close();
  };
  try {
    // Fastify would listen on both addresses of the name, with a second server that nothing here drains.
    await app.listen({ host: host === "localhost" ? "127.0.0.1" : host, port });
  } catch (error) {
    await closeAll();
    throw error;
  }
  let closing: Promise<void> | undefined;
  return {
    url: urlOf(app),
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}

function serverOptions(options: ServeOptions, tokens: readonly TokenEntry[] | undefined): Omit<ServerOptions, "store"> {
  const { clock, bounds, stats, processMetrics = true, logLevel = "info" } = options;
  return {
    processMetrics,
    ...(logLevel === "silent" ? {} : { logger: pino({ level: logLevel }) }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(clock === undefined ? {} : { clock }),
    ...(bounds === undefined ? {} : { bounds }),
    ...(stats === undefined ? {} : { stats }),
  };
}

function urlOf(app: FastifyInstance): string {
  const address = app.server.address();
  if (address === null || typeof address === "string") throw new OnceKvError("internal", "the server has no port");
  return addressUrl(address.address, address.port);
}
