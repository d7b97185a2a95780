import { InvalidRequestError } from "../src/base/errors.js";

/** Where a server is reached. */
export interface ServerAddress {
  /** Scheme, host and port, as undici wants them. */
  readonly origin: string;
  /** What a proxy puts in front of `/v1/...`; empty when there is none. */
  readonly basePath: string;
  /** Host and port, always with the port, for messages. */
  readonly host: string;
  /** The host alone. */
  readonly hostname: string;
}

/**
 * Reads the `url` option. The default of the client is 127.0.0.1, not localhost: that name stands for ::1 on some
 * machines, where the server does not listen.
 */
export function parseAddress(url: string): ServerAddress {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) throw new InvalidRequestError("url", "must be a URL, as http://127.0.0.1:7070");
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new InvalidRequestError("url", "must begin with http:// or https://");
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new InvalidRequestError("url", "must not hold a name or password; give a token in the option token");
  }
  if (parsed.search !== "" || parsed.hash !== "") {
    throw new InvalidRequestError("url", "must have no query and no fragment");
  }
  const port = parsed.port === "" ? (parsed.protocol === "https:" ? "443" : "80") : parsed.port;
  return {
    origin: parsed.origin,
    basePath: parsed.pathname.replace(/\/+$/, ""),
    host: `${parsed.hostname}:${port}`,
    hostname: parsed.hostname,
  };
}

/** What the caller is told when nothing answers: the address, the system's reason, and what to try. */
export function unreachableMessage(address: ServerAddress, cause: unknown): string {
  return `the server at ${address.host} cannot be reached: ${describeCause(cause)}${hintFor(address, cause)}`;
}

function hintFor(address: ServerAddress, cause: unknown): string {
  if (address.hostname === "localhost" && connectionRefused(cause)) {
    return "; localhost may stand for ::1 here while the server listens on 127.0.0.1: try that address";
  }
  const code = systemCode(cause) ?? "";
  if (/^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code)) {
    return "; give the certificate of its authority in the option ca, or in the file that NODE_EXTRA_CA_CERTS names";
  }
  if (/^(?:EPROTO|ERR_SSL_)/.test(code)) return "; perhaps it speaks HTTP without TLS: try http://";
  return "";
}

/** One line about a foreign error; connection attempts to several addresses come as an error without a message. */
export function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.message !== "") return cause.message;
  const code = systemCode(cause);
  return code === undefined ? cause.name : code;
}

/** The code that the system or undici gave an error, as `ECONNREFUSED`. */
export function systemCode(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || !("code" in cause)) return undefined;
  return typeof cause.code === "string" ? cause.code : undefined;
}

function connectionRefused(cause: unknown): boolean {
  return systemCode(cause) === "ECONNREFUSED";
}
