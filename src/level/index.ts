export { type BackupOptions, type BackupSummary, checkBackup, type RestoreSummary, restore } from "./backup.js";
export type { BackupHeader, BackupSink } from "./backup-file.js";
export { BackupTarget } from "./backup-target.js";
export type { DeclaredShape, DeclaredShapes } from "./declared-shapes.js";
export { EmbeddedStore } from "./embedded-store.js";
export type { HistoryOptions } from "./history.js";
export { openMemoryStore, openStore, type StoreOptions, verifyFolder } from "./open.js";
export type { MemoryStoreOptions, StoreStats } from "./store-options.js";
export type { VerifyReport } from "./verify.js";
