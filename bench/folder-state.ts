import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** What the files of a store's folder take, in bytes. */
export async function folderBytes(folder: string): Promise<number> {
  return (await filesOf(folder)).reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Waits until LevelDB has put in order what was written last: until its files have not changed for a while. Measured
 * before that, a store is slower than it will be in a moment.
 *
 * @param options.stillMs milliseconds without a change that count as still; 0: does not wait
 * @throws the signal's reason
 */
export async function untilStill(
  folder: string,
  options: { readonly stillMs: number; readonly signal?: AbortSignal },
): Promise<void> {
  const { stillMs, signal } = options;
  if (stillMs === 0) return;
  let before: string;
  let now = await describe(folder);
  do {
    signal?.throwIfAborted();
    before = now;
    await pause(stillMs);
    now = await describe(folder);
  } while (now !== before);
}

async function describe(folder: string): Promise<string> {
  const tables = (await filesOf(folder)).filter(({ name }) => name.endsWith(".ldb"));
  return tables.map(({ name, bytes }) => `${name} ${bytes}`).join();
}

async function filesOf(folder: string): Promise<readonly { readonly name: string; readonly bytes: number }[]> {
  const names = (await readdir(folder)).sort();
  const files = await Promise.all(
    names.map(async (name) => {
      // A table that was merged into others may be gone by now.
      const found = await stat(join(folder, name)).catch(() => undefined);
      return found?.isFile() === true ? [{ name, bytes: found.size }] : [];
    }),
  );
  return files.flat();
}
