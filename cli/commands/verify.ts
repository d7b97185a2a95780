import type { Command } from "commander";
import { systemClock } from "../../src/base/clock.js";
import type { VerifyReport } from "../../src/level/index.js";
import { exitCodes } from "../exit-codes.js";
import { EndedWith } from "../failure.js";
import { addFolderOption, type FolderOptions, folderOf } from "../folder-option.js";
import { withProgress } from "../progress.js";
import { jsonOption, requireStore } from "../target.js";
import { printJson, type Terminal, whileSomebodyReads } from "../terminal.js";

export function addVerifyCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("verify")
    .description("check everything in a folder against itself")
    .addHelpText(
      "after",
      `
Reads every document, expiry entry and log entry, compares them, and looks at the checksums of the files. No document is
changed. No other process may have the folder open. Where files are damaged it needs room for a copy beside the folder.
Exit code 1: problems were found; they are listed, the first hundred of them.

Example:
  oncekv verify --data ./data`,
    );
  addFolderOption(command)
    .addOption(jsonOption())
    .action(async (options: FolderOptions) => {
      const folder = folderOf(options, "verify");
      await requireStore(folder);
      const { verifyFolder } = await import("../../src/level/index.js");
      const report = await withProgress("entries checked", terminal.progress, systemClock, (onProgress) =>
        verifyFolder({ dataDir: folder, onProgress }),
      );
      await whileSomebodyReads(() =>
        options.json === true
          ? printJson(terminal, { data: folder, ...report })
          : printReport(terminal, folder, report),
      );
      if (!report.ok) throw new EndedWith(exitCodes.failed);
    });
}

async function printReport(terminal: Terminal, folder: string, report: VerifyReport): Promise<void> {
  if (!report.ok) {
    terminal.note(
      `oncekv: ${report.problem_count} problems were found; restore a backup, or see what \`oncekv repair\` salvages`,
    );
  }
  for (const problem of report.problems) await terminal.print(`problem: ${problem}`);
  const { documents, expiry_entries, log_entries, write_id_entries } = report;
  await terminal.print(
    `${folder}: ${documents} documents, ${expiry_entries} expiry entries, ${log_entries} log entries, ` +
      `${write_id_entries} write id entries checked`,
  );
  if (report.ok) await terminal.print("no problem was found");
}
