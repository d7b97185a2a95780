import { InvalidRequestError } from "../src/base/errors.js";

/**
 * The seconds that a reader is willing to wait for a change, from `Prefer: wait=30` (RFC 7240, with fractions allowed);
 * undefined when it says nothing about waiting. Other preferences are passed over, as that standard asks.
 *
 * @throws InvalidRequestError for a wait that is not a number of seconds. How long it may be is the store's to say.
 */
export function preferredWait(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  for (const preference of String(header).split(",")) {
    const [name = "", value = ""] = (preference.split(";")[0] ?? "").split("=", 2);
    if (name.trim().toLowerCase() !== "wait") continue;
    const seconds = value.trim().replace(/^"(.*)"$/, "$1");
    if (!/^\d{1,9}(\.\d+)?$/.test(seconds)) throw new InvalidRequestError("Prefer", "wait must be a number of seconds");
    return Number(seconds);
  }
  return undefined;
}
