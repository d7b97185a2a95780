import type { Command } from "commander";
import { systemClock } from "../../src/base/clock.js";
import { addFolderOption, type FolderOptions, folderOf } from "../folder-option.js";
import { withProgress } from "../progress.js";
import { acceptLossOption, jsonOption, requireStore } from "../target.js";
import { printJson, type Terminal } from "../terminal.js";

interface BackupOptions extends FolderOptions {
  readonly acceptLoss?: boolean;
}

export function addBackupCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("backup <file>")
    .description("write all living documents of a folder into a new file")
    .addHelpText(
      "after",
      `
The file is whole or not there: it gets its name when it is complete and on disk.
No other process may have the folder open. A program that embeds the store backs it up while it runs: store.backup(file).

Examples:
  oncekv backup notes.okv --data ./data
  oncekv restore notes.okv --data ./restored`,
    );
  addFolderOption(command)
    .addOption(acceptLossOption())
    .addOption(jsonOption())
    .action((file: string, options: BackupOptions) => backUp(terminal, file, options));
}

async function backUp(terminal: Terminal, file: string, options: BackupOptions): Promise<void> {
  const folder = folderOf(options, "backup");
  await requireStore(folder);
  const { openStore } = await import("../../src/level/index.js");
  const store = await openStore({ dataDir: folder, sweep: false, acceptLoss: options.acceptLoss ?? false });
  try {
    const summary = await withProgress("documents written", terminal.progress, systemClock, (onProgress) =>
      store.backup(file, { onProgress }),
    );
    if (options.json === true) return await printJson(terminal, { file, ...summary });
    const { documents, bytes, revision } = summary;
    await terminal.print(`${file} holds ${documents} documents (${bytes} bytes) as of revision ${revision}`);
  } finally {
    await store.close();
  }
}
