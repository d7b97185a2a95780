import assert from "node:assert/strict";
import { access, mkdir, readdir, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ClassicLevel } from "classic-level";
import { describe, test } from "vitest";
import { openMemoryStore, openStore, verifyFolder } from "../../src/level/index.js";
import { startChild } from "./processes/child.js";
import { rejection } from "./rejection.js";
import { temporaryFolder } from "./temporary-folder.js";

describe("opening a folder", () => {
  test("a folder that does not exist is created, with its parents", async () => {
    const dataDir = join(await temporaryFolder(), "not", "yet", "there");
    const store = await openStore({ dataDir });
    await store.put({ shape: "note", id: "a", set: { n: 1 } });
    await store.close();
    const again = await openStore({ dataDir: relative(process.cwd(), dataDir) });
    assert.deepEqual(await again.get("note", "a"), { n: 1 });
    await again.close();
  });

  test("a folder that is open in this process is store_locked, and the first store is unharmed", async () => {
    const dataDir = await temporaryFolder();
    const first = await openStore({ dataDir });
    const error = await rejection(openStore({ dataDir }), "store_locked");
    assert.ok(error.message.includes(dataDir), error.message);
    assert.ok(error.cause !== undefined);
    await first.put({ shape: "note", id: "a", set: { n: 1 } });
    await first.close();
    const second = await openStore({ dataDir });
    assert.deepEqual(await second.get("note", "a"), { n: 1 });
    await second.close();
  });

  test("a folder that another process has open is store_locked; once that one is killed it opens by itself", async () => {
    const dataDir = await temporaryFolder();
    const holder = startChild("holder.ts", [dataDir]);
    while (!holder.output().includes("open")) await sleep(20);
    const error = await rejection(openStore({ dataDir }), "store_locked");
    assert.ok(error.message.includes(dataDir), error.message);
    holder.kill("SIGKILL");
    assert.equal((await holder.ended).signal, "SIGKILL");
    const store = await openStore({ dataDir });
    assert.deepEqual(await store.get("held", "a"), { by: "holder" });
    await store.close();
  });

  test("a path that is a file, or lies below one, is store_unwritable, and the message has the whole path", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "file");
    await writeFile(file, "text");
    for (const path of [file, join(file, "below")]) {
      const error = await rejection(openStore({ dataDir: relative(process.cwd(), path) }), "store_unwritable");
      assert.ok(error.message.includes(resolve(path)), error.message);
    }
    assert.deepEqual(await readdir(folder), ["file"]);
  });

  test("~ is refused instead of being taken for a folder's name", async () => {
    for (const dataDir of ["~", "~/data"]) {
      const error = await rejection(openStore({ dataDir }), "invalid_request");
      assert.equal(error.path, "dataDir");
    }
    await assert.rejects(access("~"));
    await rejection(openStore({ dataDir: "" }), "invalid_request");
  });

  test("a LevelDB folder of somebody else is store_format and is left as it was", async () => {
    const dataDir = await temporaryFolder();
    const foreign = new ClassicLevel(dataDir);
    await foreign.put("theirs", "value");
    await foreign.close();
    await rejection(openStore({ dataDir }), "store_format");
    const again = new ClassicLevel(dataDir);
    assert.equal(await again.get("theirs"), "value");
    assert.equal((await again.keys().all()).length, 1);
    await again.close();
  });

  test("a folder with other files in it is not taken over in silence as damaged", async () => {
    const dataDir = await temporaryFolder();
    await writeFile(join(dataDir, "README.txt"), "mine");
    await mkdir(join(dataDir, "photos"));
    const store = await openStore({ dataDir });
    await store.put({ shape: "note", id: "a", set: {} });
    await store.close();
    assert.ok((await readdir(dataDir)).includes("README.txt"));
    assert.ok((await readdir(dataDir)).includes("photos"));
  });

  test("an unknown durability is refused before the folder is touched", async () => {
    const dataDir = join(await temporaryFolder(), "data");
    const durability: "durable" = JSON.parse('"fast"');
    await rejection(openStore({ dataDir, durability }), "invalid_request");
    await assert.rejects(access(dataDir));
  });

  test("a store may be closed as soon as it was opened, and opened again and again", async () => {
    const dataDir = await temporaryFolder();
    for (let round = 0; round < 5; round++) {
      const store = await openStore({ dataDir });
      assert.equal(store.revision, 0);
      await store.close();
    }
    const report = await verifyFolder({ dataDir });
    assert.deepEqual(report.problems, []);
  });

  test("memory stores share nothing", async () => {
    const [one, other] = [await openMemoryStore(), await openMemoryStore()];
    await one.put({ shape: "note", id: "a", set: {} });
    assert.equal(await other.get("note", "a"), undefined);
    await one.close();
    await other.put({ shape: "note", id: "a", set: {} });
    await other.close();
  });
});
