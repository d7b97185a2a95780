import { readFile } from "node:fs/promises";

/** What this process holds in memory, in bytes. */
export interface ProcessMemory {
  /** All that is resident, the parts of files that are mapped into it included. */
  readonly residentBytes: number;
  /**
   * Without what is mapped from files: what the process has made itself, and must have. Pages of LevelDB's tables are
   * mapped where they are read, so their number says how much was read lately; the system takes them back when it needs
   * the room. null: this system does not tell.
   */
  readonly privateBytes: number | null;
}

export async function processMemory(): Promise<ProcessMemory> {
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1];
  return {
    residentBytes: process.memoryUsage().rss,
    privateBytes: kilobytes === undefined ? null : Number(kilobytes) * 1024,
  };
}
