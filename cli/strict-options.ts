import type { Command, Option } from "commander";
import { InvalidRequestError } from "../src/base/errors.js";

/**
 * Refuses what commander lets pass in silence, each a command line that means something else than it says: an option that
 * is given twice, since the first value would vanish, and with a condition that would be another write; the two halves of
 * an option with `--no-`; and a value that is itself an option of the command, since then the value has been forgotten
 * (`--data --json`).
 *
 * @param gathers whether an option may be given several times
 * @param args the whole command line, in which `--note=--json` says that the value is meant
 */
export function beStrict(command: Command, gathers: (option: Option) => boolean, args: readonly string[]): void {
  const flags = new Set([...command.options.flatMap(flagsOf), "--help", "-h", "--"]);
  const given = new Map<string, Option>();
  for (const option of command.options) {
    command.on(`option:${option.name()}`, (value: string | null | undefined) => {
      const flag = flagsOf(option)[0] ?? option.name();
      const other = given.get(option.attributeName());
      given.set(option.attributeName(), option);
      if (other !== undefined && other !== option) {
        throw new InvalidRequestError("", `${flag} and ${flagsOf(other)[0]} exclude each other`);
      }
      if (typeof value !== "string") return;
      if (other !== undefined && !gathers(option)) throw new InvalidRequestError("", `${flag} is given twice`);
      if (flags.has(value) && !flagsOf(option).some((name) => args.includes(`${name}=${value}`))) {
        throw new InvalidRequestError(
          "",
          `the value of ${flag} is missing: ${value} is an option; ${flag}=${value} would mean that text`,
        );
      }
    });
  }
}

function flagsOf({ long, short }: Option): string[] {
  return [long, short].filter((flag) => typeof flag === "string");
}
