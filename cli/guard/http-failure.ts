import { classifyFailure } from "../../src/tool-calls/failure.js";
import type { LinkFailure } from "./server-link.js";

/** Longest part of a server's words that is passed on, in UTF-16 units. */
const textMax = 300;

/** Statuses of 4xx that may come after the tool was begun. */
const afterwards: ReadonlySet<number> = new Set([408, 409]);

/**
 * What a failed request over HTTP says about the tool. The other statuses of 4xx are those of the protocol's own door: an
 * expired session, a missing token, a message that is refused. What comes of 5xx and of a connection that breaks, nobody
 * knows; one that never came about did nothing.
 */
export function failureOf(error: unknown): LinkFailure {
  const text = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
  const message = `the server cannot be reached or refuses: ${text}${cause}`.slice(0, textMax);
  const status = statusOf(error);
  if (status === undefined) return { message, nothingBegun: classifyFailure(error) === "retryable" };
  return {
    message: `${message}, status ${status}`,
    nothingBegun: status >= 400 && status < 500 && !afterwards.has(status),
  };
}

/** The status of an answer that was none of the protocol; undefined: there was no answer. */
export function statusOf(error: unknown): number | undefined {
  const status: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "status") : undefined;
  return typeof status === "number" ? status : undefined;
}
