import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, type TestContext, test } from "vitest";
import { OnceKvError } from "../../src/base/errors.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { openStore } from "../../src/level/index.js";

const run = promisify(execFile);

/** Takes the last byte of a disk. */
async function fill(file: string): Promise<void> {
  try {
    for (;;) await appendFile(file, Buffer.alloc(64 * 1024));
  } catch (error) {
    expect(error).toMatchObject({ code: "ENOSPC" });
  }
}

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

/** Runs a test on a small disk, or skips it with the reason printed. */
async function onSmallDisk(context: TestContext, work: (disk: string) => Promise<void>): Promise<void> {
  const disk = await smallDisk(24);
  if (disk === undefined) {
    context.skip("this user may not mount a small disk (mount -t tmpfs); run as root to include this test");
    return;
  }
  try {
    await work(disk);
  } finally {
    await run("umount", [disk]);
    await rm(disk, { recursive: true });
  }
}

test("a full disk: the write that fails says so, reads go on, and with space again everything acknowledged is there", (context) =>
  onSmallDisk(context, async (disk) => {
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
  }));

test("a full disk that only housekeeping meets: nothing is acknowledged behind the torn record that it leaves", (context) =>
  onSmallDisk(context, async (disk) => {
    const clock = new ManualClock();
    const dataDir = join(disk, "data");
    const store = await openStore({ dataDir, clock });
    const acknowledged = ["before"];
    // As long as a deadline lies ahead, the store's now is written down every second.
    await store.put({ shape: "note", id: "before", set: {}, ttl: 1_000_000 });
    const filler = join(disk, "filler");
    await fill(filler);
    for (let second = 0; second < 300; second++) {
      clock.advance(1000);
      await store.verify();
    }
    expect(store.stats().failed, "a mark of the clock has met the full disk").toBe(true);
    await rm(filler);
    for (let n = 0; n < 10; n++) {
      try {
        await store.put({ shape: "note", id: `${n}`, set: { n } });
        acknowledged.push(`${n}`);
      } catch (error) {
        expect(error).toBeInstanceOf(OnceKvError);
        expect(error).toMatchObject({ code: "store_failed" });
      }
    }
    await store.close();

    const again = await openStore({ dataDir, clock });
    for (const id of acknowledged) expect(await again.get("note", id), id).toBeDefined();
    expect((await again.verify()).problems).toEqual([]);
    await again.put({ shape: "note", id: "after", set: {} });
    await again.close();
  }));

test("a disk that is full when the store is closed or opened: an error that says so, and nothing is lost", (context) =>
  onSmallDisk(context, async (disk) => {
    const dataDir = join(disk, "data");
    const store = await openStore({ dataDir });
    for (let n = 0; n < 20; n++) await store.put({ shape: "note", id: `${n}`, set: { text: "x".repeat(5000) } });
    const filler = join(disk, "filler");
    await fill(filler);
    // The mark of a clean end may still fit into the last page of the log.
    const closed = await store.close().catch((error: unknown) => error);
    if (closed !== undefined) expect(closed).toMatchObject({ code: "store_failed" });
    const opened = await openStore({ dataDir }).catch((error: unknown) => error);
    expect(opened).toBeInstanceOf(OnceKvError);
    expect(opened).toMatchObject({ message: expect.stringMatching(/No space left/) });
    await rm(filler);
    const again = await openStore({ dataDir });
    expect((await again.list("note", { limit: 1000 })).documents.length).toBe(20);
    expect((await again.verify()).problems).toEqual([]);
    await again.close();
  }));
