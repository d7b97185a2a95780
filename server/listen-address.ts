import { isIP, isIPv6 } from "node:net";
import { InvalidRequestError } from "../src/base/errors.js";

/**
 * Refuses an address that other machines can reach, unless there are tokens: whoever reaches the server may otherwise
 * read and change everything.
 *
 * @throws InvalidRequestError that says what to do
 */
export function checkListenAddress(host: string, hasTokens: boolean): void {
  if (hasTokens || isLoopback(host)) return;
  throw new InvalidRequestError(
    "host",
    `${JSON.stringify(host)} can be reached from other machines, and the server has no tokens. ` +
      "Give it a tokens file, or listen on 127.0.0.1",
  );
}

/** Whether only this machine reaches the address. A name may mean anything, but for the one that means this. */
export function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}

/** The address as a URL that can be reached from here: nobody connects to 0.0.0.0. */
export function addressUrl(address: string, port: number, scheme: "http" | "https" = "http"): string {
  if (address === "0.0.0.0") return `${scheme}://127.0.0.1:${port}`;
  if (address === "::") return `${scheme}://[::1]:${port}`;
  return isIPv6(address) ? `${scheme}://[${address}]:${port}` : `${scheme}://${address}:${port}`;
}
