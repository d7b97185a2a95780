import type { Command } from "commander";
import { systemClock } from "../../src/base/clock.js";
import type { RepairReport } from "../../src/level/index.js";
import { exitCodes } from "../exit-codes.js";
import { EndedWith } from "../failure.js";
import { addFolderOption, type FolderOptions, folderOf } from "../folder-option.js";
import { folderPath } from "../folder-path.js";
import { withProgress } from "../progress.js";
import { jsonOption } from "../target.js";
import { printJson, type Terminal, whileSomebodyReads } from "../terminal.js";

interface RepairOptions extends FolderOptions {
  readonly into: string;
}

export function addRepairCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("repair")
    .description("make a new folder from what a damaged one still holds")
    .addHelpText(
      "after",
      `
The damaged folder stays as it is; a copy of it stands beside the new one meanwhile, so that there must be room for both.
No other process may have the folder open. What is lost is said. The new folder's revisions jump ahead, as after a
restore. Exit code 1: something is lost, or may be.

Example:
  oncekv repair --data ./data --into ./repaired`,
    );
  addFolderOption(command)
    .requiredOption("--into <folder>", "the new folder, empty or not there yet")
    .addOption(jsonOption())
    .action(async (options: RepairOptions) => {
      const folder = folderOf(options, "repair");
      const into = folderPath(options.into, "--into");
      const { repairFolder } = await import("../../src/level/index.js");
      const report = await withProgress("entries read", terminal.progress, systemClock, (onProgress) =>
        repairFolder({ dataDir: folder, into, onProgress }),
      );
      await whileSomebodyReads(() =>
        options.json === true
          ? printJson(terminal, { data: folder, into, ...report })
          : printReport(terminal, into, report),
      );
      if (!report.ok) throw new EndedWith(exitCodes.failed);
    });
}

async function printReport(terminal: Terminal, into: string, report: RepairReport): Promise<void> {
  if (!report.ok) {
    terminal.note(`oncekv: something is lost; compare with the last backup before ${into} goes into use`);
  }
  for (const line of linesOf(report)) await terminal.print(line);
  await terminal.print(
    `${into} holds ${report.documents} documents (${report.from_log} of them from the log); ` +
      `new revisions begin after ${report.base_revision}`,
  );
  if (report.ok) await terminal.print("nothing is known to be lost");
}

/** What a repair has to say of what it found, a line each. */
function linesOf(report: RepairReport): string[] {
  const reasons = {
    damaged: "its value is damaged and nothing else has it",
    missing: "it was there, and nothing has it",
    doubtful: "it is there as the log had it, and may have changed since",
  };
  return [
    ...report.problems.map((problem) => `found: ${problem}`),
    ...report.missing_revisions.map(({ from, to }) => `lost: what revisions ${from} to ${to} changed`),
    ...report.lost_stretches.map(
      ({ after, up_to, bytes }) =>
        `lost, perhaps: documents ${after === null ? "from the first" : `behind ${after}`} ` +
        `${up_to === null ? "to the last" : `up to ${up_to}`} that were in a damaged block of ${bytes} bytes`,
    ),
    ...report.lost.map(({ shape, id, reason }) => `lost: document ${shape}/${JSON.stringify(id)}: ${reasons[reason]}`),
    ...(report.lost_count > report.lost.length ? [`lost: ${report.lost_count} documents in all`] : []),
    ...(report.damaged_bytes > 0 ? [`${report.damaged_bytes} bytes are damaged`] : []),
  ];
}
