import type { DocumentStore } from "../src/documents/contract.js";
import type { BackupOptions, BackupSink, BackupSummary } from "../src/level/index.js";

/** A store that gives out a backup of itself while it is in use, as the embedded one does. Other stores need not. */
export interface BackupSource {
  backupTo(sink: BackupSink, options: BackupOptions): Promise<BackupSummary>;
}

/** undefined: the store has no backups to give. */
export function backupSourceOf(store: DocumentStore): BackupSource | undefined {
  return isSource(store) ? store : undefined;
}

function isSource(store: DocumentStore): store is DocumentStore & BackupSource {
  return "backupTo" in store && typeof store.backupTo === "function";
}
