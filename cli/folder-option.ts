import { type Command, Option } from "commander";
import { InvalidRequestError } from "../src/base/errors.js";
import { folderPath } from "./folder-path.js";

/** Of commands that work on the files themselves, which no server does for them. */
export interface FolderOptions {
  readonly data?: string;
  readonly url?: string;
  readonly json?: boolean;
}

/** Adds `--data`, and a hidden `--url`, to say more about it than that it is unknown. */
export function addFolderOption(command: Command): Command {
  return command
    .option("--data <folder>", "the folder; no other process may have it open")
    .addOption(new Option("--url <url>").hideHelp());
}

/** The absolute path of the folder. @throws InvalidRequestError when it was not given */
export function folderOf(options: FolderOptions, commandName: string): string {
  const { data, url } = options;
  if (url !== undefined) {
    throw new InvalidRequestError(
      "",
      `${commandName} works on a folder, not over HTTP: give --data instead of --url, on the machine with the folder, ` +
        "while no server has it open",
    );
  }
  if (data === undefined) {
    throw new InvalidRequestError("", `${commandName} works on a folder, not over HTTP: give --data <folder>`);
  }
  return folderPath(data, "--data");
}
