import { readFileSync } from "node:fs";

/** How many files this process may have open, connections among them; undefined where the system does not tell. */
export function openFilesMax(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    // Not Linux.
    return undefined;
  }
}
