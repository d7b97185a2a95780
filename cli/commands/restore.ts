import type { Command } from "commander";
import { systemClock } from "../../src/base/clock.js";
import { addFolderOption, type FolderOptions, folderOf } from "../folder-option.js";
import { filePath } from "../folder-path.js";
import { withProgress } from "../progress.js";
import { jsonOption } from "../target.js";
import { printJson, type Terminal } from "../terminal.js";

export function addRestoreCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("restore <file>")
    .description("make a new folder from a backup")
    .addHelpText(
      "after",
      `
The folder must be empty or not there yet; the file is checked to its end before anything is written. The store's
revisions jump ahead, so that no revision that somebody has kept from the lost time ever matches; history begins anew.

Example:
  oncekv restore notes.okv --data ./restored`,
    );
  addFolderOption(command)
    .addOption(jsonOption())
    .action(async (file: string, options: FolderOptions) => {
      const folder = folderOf(options, "restore");
      const { restore } = await import("../../src/level/index.js");
      const summary = await withProgress("documents restored", terminal.progress, systemClock, (onProgress) =>
        restore({ file: filePath(file, "<file>"), dataDir: folder, onProgress }),
      );
      if (options.json === true) return printJson(terminal, { data: folder, ...summary });
      const { documents, revision, base_revision } = summary;
      await terminal.print(
        `${folder} holds ${documents} documents as of revision ${revision}; new revisions begin after ${base_revision}`,
      );
    });
}
