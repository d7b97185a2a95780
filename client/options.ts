import { randomUUID } from "node:crypto";
import type { Dispatcher } from "undici";
import { type Clock, systemClock } from "../src/base/clock.js";
import { InvalidRequestError } from "../src/base/errors.js";
import { checkSignal } from "../src/documents/request-members.js";
import { sharedSignal } from "./abortable.js";
import { parseAddress, type ServerAddress } from "./address.js";

/** What may differ from call to call: `client.with(options)` gives a view of the client that uses it. */
export interface CallOptions {
  /**
   * Seconds that one request may take, connecting and waiting for a free connection included; 10 when absent. A call
   * that is retried takes at most `retryFor` and one such timeout more.
   */
  readonly timeout?: number;
  /**
   * Ends the calls: they reject with its reason. A write that it ends may have reached the server, so whether it was
   * applied is not known then.
   */
  readonly signal?: AbortSignal;
}

export interface ClientOptions extends CallOptions {
  /** Where the server is; `http://127.0.0.1:7070` when absent. A path in it is put before every request's own. */
  readonly url?: string;
  /** Sent as a bearer token with every request. */
  readonly token?: string;
  /**
   * For an `https` address: the certificates, in PEM, of the authorities whose word is taken that the server is who it
   * says, or its own. Absent: those that Node knows, to which the variable NODE_EXTRA_CA_CERTS adds.
   */
  readonly ca?: string;
  /**
   * Seconds after the beginning of a call during which a request that failed is sent again, 0 to 30; 30 when absent. For
   * a watch: seconds without any contact after which it ends. The server knows a write by its id for much longer.
   */
  readonly retryFor?: number;
  /** Connections for everything but waits and watches, which have their own; 64 when absent. */
  readonly connections?: number;
  /** Passed in by tests. */
  readonly clock?: Clock;
  /** A number from 0 up to but not including 1; spreads the retries of many clients. Passed in by tests. */
  readonly random?: () => number;
  /** Names the writes that have no `write_id` of their own; a random UUID when absent. */
  readonly newWriteId?: () => string;
  /** Sends all requests, as a proxy agent does, in place of the client's own connections. The caller closes it. */
  readonly dispatcher?: Dispatcher;
}

/** The settings of a view, checked and in milliseconds. */
export interface CallSettings {
  readonly timeoutMs: number;
  readonly signals: readonly AbortSignal[];
}

/** All options, checked, with defaults. */
export interface ClientSettings extends CallSettings {
  readonly address: ServerAddress;
  readonly token: string | undefined;
  readonly ca: string | undefined;
  readonly retryForMs: number;
  readonly connections: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly newWriteId: () => string;
  readonly dispatcher: Dispatcher | undefined;
}

const timeoutSecondsMax = 3600;
/** Beyond this nobody waits for an answer any more, and a write's id must be remembered for longer than it is sent. */
const retrySecondsMax = 30;

export function resolveOptions(options: ClientOptions): ClientSettings {
  const { connections = 64, retryFor = retrySecondsMax, token } = options;
  if (!Number.isSafeInteger(connections) || connections < 1) {
    throw new InvalidRequestError("connections", "must be a whole number from 1");
  }
  if (!(typeof retryFor === "number" && retryFor >= 0 && retryFor <= retrySecondsMax)) {
    throw new InvalidRequestError("retryFor", `must be a number of seconds from 0 to ${retrySecondsMax}`);
  }
  // The message never shows the token.
  if (token !== undefined && !(typeof token === "string" && /^[\x21-\x7e]+$/.test(token))) {
    throw new InvalidRequestError("token", "must be printable ASCII without spaces");
  }
  const address = parseAddress(options.url ?? "http://127.0.0.1:7070");
  return {
    ...applyCallOptions({ timeoutMs: 10_000, signals: [] }, options),
    address,
    token,
    ca: checkAuthority(options, address),
    retryForMs: retryFor * 1000,
    connections,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    newWriteId: options.newWriteId ?? randomUUID,
    dispatcher: options.dispatcher,
  };
}

/** The settings of a view over those of the client it came from: a timeout replaces, a signal is added. */
export function applyCallOptions(settings: CallSettings, options: CallOptions): CallSettings {
  const { timeout, signal } = options;
  if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0 && timeout <= timeoutSecondsMax)) {
    throw new InvalidRequestError("timeout", `must be a number of seconds above 0, at most ${timeoutSecondsMax}`);
  }
  return {
    timeoutMs: timeout === undefined ? settings.timeoutMs : timeout * 1000,
    signals:
      signal === undefined ? settings.signals : [...settings.signals, sharedSignal(checkSignal(signal, "signal"))],
  };
}

/** An authority that nobody would be asked about is a mistake that looks like safety. */
function checkAuthority({ ca, dispatcher }: ClientOptions, { origin }: ServerAddress): string | undefined {
  if (ca === undefined) return undefined;
  if (typeof ca !== "string" || !ca.includes("-----BEGIN CERTIFICATE-----")) {
    throw new InvalidRequestError("ca", 'must be certificates in PEM ("-----BEGIN CERTIFICATE-----")');
  }
  if (!origin.startsWith("https:")) throw new InvalidRequestError("ca", "needs a url that begins with https://");
  if (dispatcher !== undefined) throw new InvalidRequestError("ca", "is the matter of the dispatcher that is given");
  return ca;
}
