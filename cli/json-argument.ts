import { readBoundedFile } from "../server/bounded-file.js";
import { parseJsonObject } from "../server/json-text.js";
import { writeBodyBytesMax } from "../server/limits.js";
import { InvalidRequestError, TooLargeError } from "../src/base/errors.js";
import { defaultLimits } from "../src/base/limits.js";
import type { Fields } from "../src/documents/contract.js";
import type { Terminal } from "./terminal.js";

/** No longer text is a document that any store takes; a server would refuse it too. */
const textBytesMax = writeBodyBytesMax(defaultLimits);

/**
 * Reads an argument that stands for a JSON object: the object itself, `@FILE`, or `-` for the standard input. It is read
 * as strictly as a request: a name that is there twice is refused.
 *
 * @param what names the argument in messages
 * @throws InvalidRequestError, and `too_large` for a text that no store takes; it is not read to its end
 */
export async function readJsonArgument(terminal: Terminal, argument: string, what: string): Promise<Fields> {
  return parseJsonObject(await readText(terminal, argument, what), what) as Fields;
}

/**
 * The same for an argument that may be any JSON value.
 *
 * @throws InvalidRequestError, and `too_large`
 */
export async function readJsonValue(terminal: Terminal, argument: string, what: string): Promise<unknown> {
  const text = await readText(terminal, argument, what);
  // Within an object the rules for objects hold for every value; a text that closes the object has more than one member.
  const members = parseJsonObject(Buffer.concat([Buffer.from('{"value":'), text, Buffer.from("}")]), what);
  const names = Object.keys(members);
  if (names.length !== 1) throw new InvalidRequestError("", `${what} must be one JSON value`);
  return Object.getOwnPropertyDescriptor(members, "value")?.value;
}

async function readText(terminal: Terminal, argument: string, what: string): Promise<Buffer> {
  if (argument !== "-" && !argument.startsWith("@")) return Buffer.from(argument, "utf8");
  let text: Buffer;
  try {
    text =
      argument === "-"
        ? await terminal.readInput(textBytesMax)
        : await readBoundedFile(argument.slice(1), textBytesMax);
  } catch (error) {
    if (error instanceof RangeError) throw new TooLargeError("", `${what} is too long: ${error.message}`);
    throw new InvalidRequestError("", `${what} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (text.length > 0) return text;
  throw new InvalidRequestError(
    "",
    `${what} is missing: ${argument === "-" ? "the standard input" : "the file"} is empty`,
  );
}
