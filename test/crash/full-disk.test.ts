import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openStore } from "../../src/level/index.js";

const run = promisify(execFile);

/** A small disk of its own; undefined where this user may not have one. */
async function smallDisk(megabytes: number): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-disk-"));
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]);
    return folder;
  } catch (error) {
    await rm(folder, { recursive: true });
    // Where CI runs, the right to mount is expected: there a missing one is a failure.
    if (process.env["CI"]) throw error;
    return undefined;
  }
}

test("a full disk: the write that fails says so, reads go on, and with space again everything acknowledged is there", async (context) => {
  const disk = await smallDisk(24);
  if (disk === undefined) {
    context.skip("this user may not mount a small disk (mount -t tmpfs); run as root to include this test");
    return;
  }
  try {
    const filler = join(disk, "filler");
    await writeFile(filler, Buffer.alloc(8 * 1024 * 1024));
    const dataDir = join(disk, "data");
    const store = await openStore({ dataDir });
    const text = "x".repeat(100_000);
    const acknowledged: string[] = [];
    let failure: unknown;
    while (failure === undefined && acknowledged.length < 10_000) {
      const id = `${acknowledged.length}`;
      // Noise cannot be compressed, so that the disk fills.
      const noise = randomBytes(60_000).toString("base64");
      try {
        await store.put({ shape: "note", id, set: { text, noise } });
        acknowledged.push(id);
      } catch (error) {
        failure = error;
      }
    }
    expect(failure).toMatchObject({ code: "outcome_unknown", status: 503 });
    expect(acknowledged.length).toBeGreaterThan(10);
    await expect(store.put({ shape: "note", id: "later", set: {} })).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringMatching(/opened again/),
    });
    for (const id of acknowledged) expect((await store.get("note", id))?.["text"]).toBe(text);
    await store.close();

    await rm(filler);
    const again = await openStore({ dataDir });
    for (const id of acknowledged) expect((await again.get("note", id))?.["text"]).toBe(text);
    await again.put({ shape: "note", id: "later", set: {} });
    expect((await again.verify()).problems).toEqual([]);
    await again.close();
  } finally {
    await run("umount", [disk]);
    await rm(disk, { recursive: true });
  }
});
