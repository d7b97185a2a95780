import { readFile } from "node:fs/promises";
import { parseJsonObject } from "../server/json-text.js";
import { InvalidRequestError } from "../src/base/errors.js";
import type { Fields } from "../src/documents/contract.js";
import type { Terminal } from "./terminal.js";

/**
 * Reads an argument that stands for a JSON object: the object itself, `@FILE`, or `-` for the standard input. It is read
 * as strictly as a request: a name that is there twice is refused.
 *
 * @param what names the argument in messages
 * @throws InvalidRequestError
 */
export async function readJsonArgument(terminal: Terminal, argument: string, what: string): Promise<Fields> {
  const text = argument === "-" ? await readInput(terminal, what) : await readText(argument, what);
  return parseJsonObject(text, what) as Fields;
}

/**
 * The same for an argument that may be any JSON value.
 *
 * @throws InvalidRequestError
 */
export async function readJsonValue(terminal: Terminal, argument: string, what: string): Promise<unknown> {
  const text = argument === "-" ? await readInput(terminal, what) : await readText(argument, what);
  // Within an object the rules for objects hold for every value; a text that closes the object has more than one member.
  const members = parseJsonObject(Buffer.concat([Buffer.from('{"value":'), text, Buffer.from("}")]), what);
  const names = Object.keys(members);
  if (names.length !== 1) throw new InvalidRequestError("", `${what} must be one JSON value`);
  return Object.getOwnPropertyDescriptor(members, "value")?.value;
}

async function readText(argument: string, what: string): Promise<Buffer> {
  if (!argument.startsWith("@")) return Buffer.from(argument, "utf8");
  try {
    return await readFile(argument.slice(1));
  } catch (error) {
    throw new InvalidRequestError("", `${what} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

async function readInput(terminal: Terminal, what: string): Promise<Buffer> {
  const text = await terminal.readInput();
  if (text.length === 0) throw new InvalidRequestError("", `${what} is missing: the standard input is empty`);
  return text;
}
