import type { Command } from "commander";
import { systemClock } from "../../src/base/clock.js";
import type { BackupSummary } from "../../src/level/index.js";
import { downloadBackup } from "../backup-download.js";
import { filePath } from "../folder-path.js";
import { withProgress } from "../progress.js";
import { addTargetOptions, type Target, type TargetOptions, withTarget } from "../target.js";
import { printJson, type Terminal } from "../terminal.js";

export function addBackupCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("backup <file>")
    .description("write all living documents into a new file")
    .addHelpText(
      "after",
      `
From a server while it runs, at one moment of its store; with tokens it takes one that may read "*". With --data from a
folder that no process has open. The file is whole or not there: it gets its name when it is complete, checked and on
disk.

Examples:
  oncekv backup notes.okv
  oncekv backup notes.okv --url https://store.example --token-file backup.token
  oncekv backup notes.okv --data ./data
  oncekv restore notes.okv --data ./restored`,
    );
  addTargetOptions(command).action((given: string, options: TargetOptions) => {
    const file = filePath(given, "<file>");
    return withTarget(command, options, { create: false, sweep: false }, async (target) => {
      const summary = await backUp(terminal, target, file);
      if (options.json === true) return printJson(terminal, { file, ...summary });
      const { documents, bytes, revision } = summary;
      await terminal.print(`${file} holds ${documents} documents (${bytes} bytes) as of revision ${revision}`);
    });
  });
}

function backUp({ progress }: Terminal, target: Target, file: string): Promise<BackupSummary> {
  return target.kind === "server"
    ? withProgress("bytes received", progress, systemClock, (onProgress) => downloadBackup(target, file, onProgress))
    : withProgress("documents written", progress, systemClock, (onProgress) =>
        target.store.backup(file, { onProgress }),
      );
}
