import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore } from "../../src/index.js";
import { runCli, temporaryFolder } from "./command-line.js";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let data: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  data = join(folder.path, "data");
  const store = await openStore({ dataDir: data });
  for (let index = 0; index < 20; index++) {
    await store.put({ shape: "note", id: `${index}`, set: { index }, ttl: 3600 });
  }
  await store.close();
});

afterAll(() => folder.remove());

test("a backup is restored into a new folder, which verifies, and never into one that is in use", async () => {
  const file = join(folder.path, "notes.okv");
  const backup = await runCli(["backup", file, "--data", data, "--json"]);
  expect(backup.code).toBe(0);
  expect(JSON.parse(backup.stdout)).toMatchObject({ file, documents: 20, revision: 20 });
  expect(await runCli(["backup", file, "--data", data])).toMatchObject({ code: 1, stdout: "" });

  const restored = join(folder.path, "restored");
  const restore = await runCli(["restore", file, "--data", restored]);
  expect(restore.code).toBe(0);
  expect(restore.stdout).toMatch(/restored holds 20 documents as of revision 20; new revisions begin after \d{10,}\n$/);
  const verified = await runCli(["verify", "--data", restored, "--json"]);
  expect(verified.code).toBe(0);
  expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true, documents: 20, problems: [] });
  expect(await runCli(["restore", file, "--data", restored])).toMatchObject({ code: 1, stdout: "" });

  await writeFile(file, (await readFile(file)).subarray(0, -40));
  const cut = await runCli(["restore", file, "--data", join(folder.path, "never"), "--json"]);
  expect(cut.code).toBe(1);
  expect(JSON.parse(cut.stderr)).toMatchObject({ code: "backup_invalid" });
});

test("verify lists what is damaged and ends with 1", async () => {
  const damaged = join(folder.path, "damaged");
  const store = await openStore({ dataDir: damaged });
  await store.put({ shape: "note", id: "1", set: { text: "the letter that changes" } });
  await store.put({ shape: "note", id: "2", set: { text: "another" } });
  await store.close();
  for (const name of (await readdir(damaged)).filter((each) => each.endsWith(".log"))) {
    const bytes = await readFile(join(damaged, name));
    const place = bytes.indexOf("the letter");
    if (place >= 0) bytes[place] = 84;
    await writeFile(join(damaged, name), bytes);
  }
  const verified = await runCli(["verify", "--data", damaged]);
  expect(verified.code).toBe(1);
  expect(verified.stdout).toMatch(/^problem: /);
  expect(verified.stderr).toMatch(
    /^oncekv: \d+ problems were found; restore a backup, or see what `oncekv repair` salvages\n$/,
  );
});

test("a folder that has lost a part of its database is not taken for a new one", async () => {
  const partial = join(folder.path, "partial");
  const store = await openStore({ dataDir: partial });
  await store.put({ shape: "note", id: "1", set: {} });
  await store.close();
  await rm(join(partial, "CURRENT"));
  for (const args of [["get", "note", "1"], ["verify"]]) {
    const refused = await runCli([...args, "--data", partial, "--json"]);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stderr)).toMatchObject({ code: "store_damaged" });
  }
});

test("work on files needs a folder, and reading makes none", async () => {
  for (const args of [["restore", "x"], ["verify"]]) {
    const overHttp = await runCli([...args, "--url", "http://127.0.0.1:7070"]);
    expect(overHttp, args[0]).toMatchObject({ code: 2, stdout: "" });
    expect(overHttp.stderr, args[0]).toContain("works on a folder, not over HTTP: give --data instead of --url");
  }
  const nowhere = join(folder.path, "mistyped");
  for (const args of [["get", "note", "1"], ["verify"]]) {
    const missing = await runCli([...args, "--data", nowhere]);
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toContain(`there is no store in ${nowhere}`);
  }
  expect(await readdir(folder.path)).not.toContain("mistyped");
});
