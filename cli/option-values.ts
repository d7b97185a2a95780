import { InvalidArgumentError, type Option } from "commander";

/** Seconds, or `none`. The bounds are the store's matter. Not null for none: commander would make "" of it. */
export function parseTtl(text: string): number | "none" {
  return text === "none" ? text : parseSeconds(text);
}

/** The member of a write for `--ttl`. */
export function ttlMember(ttl: number | "none" | undefined): { ttl?: number | null } {
  return ttl === undefined ? {} : { ttl: ttl === "none" ? null : ttl };
}

/** Seconds, fractions allowed. Strict: `Number("")` would be 0. */
export function parseSeconds(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError("It must be a number of seconds.");
  return Number(text);
}

/** A whole number from 0. */
export function parseWhole(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError("It must be a whole number from 0.");
  return number;
}

/** A number above 0, fractions allowed. Its bounds are the server's matter. */
export function parseRate(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError("It must be a number.");
  return Number(text);
}

export function parsePort(text: string): number {
  const port = parseWhole(text);
  if (port > 65_535) throw new InvalidArgumentError("It must be from 0 to 65535.");
  return port;
}

/** `a,b` or `*`; may be given several times. */
export function parseShapes(text: string, earlier: readonly string[] | false | undefined): readonly string[] {
  const shapes = text.split(",").map((shape) => shape.trim());
  // False after `--no-`, which is refused together with this one later.
  return [...(earlier === undefined || earlier === false ? [] : earlier), ...shapes.filter((shape) => shape !== "")];
}

/** A text; may be given several times. */
export function gather(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

/** Whether an option may be given several times, since its values add up. */
export function isGathered(option: Option): boolean {
  return option.parseArg === gather || option.parseArg === parseShapes;
}
