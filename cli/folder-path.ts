import { resolve } from "node:path";
import { InvalidRequestError } from "../src/base/errors.js";

/**
 * The absolute path of a folder that an option names. An empty text, as of a variable that is not set, would be the
 * folder that the shell is in.
 *
 * @param option for the message, as `--data`
 * @throws InvalidRequestError
 */
export function folderPath(text: string, option: string): string {
  if (text === "") throw new InvalidRequestError("", `${option} must be the path of a folder, and is empty`);
  if (text === "~" || text.startsWith("~/")) {
    throw new InvalidRequestError(
      "",
      `${option}: ${text} begins with ~, which only a shell expands; give the whole path`,
    );
  }
  return resolve(text);
}

/** The same for a file that is named. @throws InvalidRequestError */
export function filePath(text: string, what: string): string {
  if (text === "") throw new InvalidRequestError("", `${what} must be the path of a file, and is empty`);
  return text;
}
