import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { systemClock } from "../src/base/clock.js";
import { InvalidRequestError, OnceKvError } from "../src/base/errors.js";
import type { DocumentStore } from "../src/documents/contract.js";
import { openStore, type StoreOptions } from "../src/level/index.js";
import { Tokens } from "./access/tokens.js";
import { readTokensFile } from "./access/tokens-file.js";
import { createWatchingServer, type ServerOptions } from "./create-server.js";
import { checkBounds } from "./limits.js";
import { addressUrl, checkListenAddress } from "./listen-address.js";
import { logDestination } from "./log-destination.js";
import { reloadableKeyPair } from "./reload/key-pair-reload.js";
import { ReloadCount } from "./reload/reload-count.js";
import { reloadWhenChanged } from "./reload/reloading.js";
import { reloadableTokens } from "./reload/tokens-reload.js";
import type { WatchedFiles } from "./reload/watched-files.js";
import { readKeyPair, type TlsFiles } from "./tls/key-pair.js";

/** Where and how to listen. */
export interface ListenOptions extends Omit<ServerOptions, "store" | "tokens" | "tls" | "logger"> {
  /** 127.0.0.1 when absent. An address that other machines reach needs tokens. */
  readonly host?: string;
  /** 7070 when absent; 0: any that is free. */
  readonly port?: number;
  /** The file with the tokens, which is read again whenever it changes; absent: everybody may do everything. */
  readonly tokensFile?: string;
  /**
   * The file with the private key, in PEM and without a passphrase; together with `tlsCertFile`, and like it read again
   * whenever it changes. Absent: HTTP without TLS.
   */
  readonly tlsKeyFile?: string;
  /** The file with the server's certificate, in PEM, and after it those that lead to its authority. */
  readonly tlsCertFile?: string;
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
 * Rejects with `invalid_request` for an address that needs tokens, for bounds that are none, for a faulty tokens file, and
 * for a key and a certificate that are no pair; with the errors of `openStore`; and with the system's error when the port is taken.
 */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", port = 7070, tokensFile, clock = systemClock } = options;
  checkListenAddress(host, tokensFile !== undefined);
  // Before the folder is made.
  checkBounds(options.bounds ?? {});
  const tlsFiles = tlsFilesOf(options);
  const entries = tokensFile === undefined ? undefined : await readTokensFile(tokensFile);
  const tokens = entries === undefined ? undefined : new Tokens(entries);
  const tls = tlsFiles === undefined ? undefined : await readKeyPair(tlsFiles);
  const opened = "store" in options ? undefined : await openStore(options);
  const store = "store" in options ? options.store : opened;
  if (store === undefined) throw new OnceKvError("internal", "there is no store to serve");
  const count = new ReloadCount();
  let app: FastifyInstance;
  try {
    const known = { ...(tokens === undefined ? {} : { tokens }), ...(tls === undefined ? {} : { tls }) };
    app = createWatchingServer({ ...serverOptions(options), ...known, store }, count);
  } catch (error) {
    // Whatever it is, the folder is free again.
    await opened?.close();
    throw error;
  }
  const watched: WatchedFiles[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(watched.map((files) => files.close()));
    await app.close();
    await opened?.close();
  };
  const scheme = tls === undefined ? "http" : "https";
  try {
    // Fastify would listen on both addresses of the name, with a second server that nothing here drains.
    const address = host === "localhost" ? "127.0.0.1" : host;
    await app.listen({ host: address, port, listenTextResolver: () => `listens on ${urlOf(app, scheme)}` });
  } catch (error) {
    await closeAll();
    throw error;
  }
  const reload = { logger: app.log, clock, count };
  if (tokensFile !== undefined && tokens !== undefined && entries !== undefined) {
    watched.push(reloadWhenChanged(reloadableTokens(tokensFile, tokens), entries, reload));
  }
  if (tlsFiles !== undefined && tls !== undefined) {
    watched.push(reloadWhenChanged(reloadableKeyPair(tlsFiles, app.server), tls, reload));
  }
  let closing: Promise<void> | undefined;
  return {
    url: urlOf(app, scheme),
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}

/** Both, or none: with one alone somebody would believe that there is TLS. */
function tlsFilesOf({ tlsKeyFile, tlsCertFile }: ListenOptions): TlsFiles | undefined {
  if (tlsKeyFile === undefined && tlsCertFile === undefined) return undefined;
  if (tlsKeyFile !== undefined && tlsCertFile !== undefined) return { keyFile: tlsKeyFile, certFile: tlsCertFile };
  const missing = tlsKeyFile === undefined ? "tlsKeyFile" : "tlsCertFile";
  throw new InvalidRequestError(missing, "is missing: TLS needs both a key and a certificate");
}

function serverOptions(options: ServeOptions): Omit<ServerOptions, "store"> {
  const { clock, bounds, stats, processMetrics = true, logLevel = "info" } = options;
  return {
    processMetrics,
    ...(logLevel === "silent" ? {} : { logger: pino({ level: logLevel }, logDestination()) }),
    ...(clock === undefined ? {} : { clock }),
    ...(bounds === undefined ? {} : { bounds }),
    ...(stats === undefined ? {} : { stats }),
  };
}

function urlOf(app: FastifyInstance, scheme: "http" | "https"): string {
  const address = app.server.address();
  if (address === null || typeof address === "string") throw new OnceKvError("internal", "the server has no port");
  return addressUrl(address.address, address.port, scheme);
}
