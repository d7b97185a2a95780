import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, runCli, startShell, temporaryFolder, textUntil } from "./command-line.js";

/*
 * What only a real process shows: its streams are closed, full, or no text. Where there is no device that is always full,
 * as on Linux, these tests say that they are skipped.
 */

const hasFullDevice = existsSync("/dev/full");
if (!hasFullDevice) process.stderr.write("SKIPPED test/cli/streams.test.ts: there is no /dev/full here\n");

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let data: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  data = join(folder.path, "data");
  await runCli(["put", "note", "1", JSON.stringify({ text: "x".repeat(300_000) }), "--data", data]);
});

afterAll(() => folder.remove());

test.skipIf(!hasFullDevice)(
  "a full disk behind the standard output ends a command with 1 and one line",
  async () => {
    const full = await ended(startShell(`"$@" > /dev/full`, ["get", "note", "1", "--data", data]));
    expect(full.code).toBe(1);
    expect(full.stderr).toMatch(/^oncekv: ENOSPC[^\n]+\n$/);
  },
  600_000,
);

test.skipIf(!hasFullDevice)(
  "a server goes on while its log cannot be written",
  async () => {
    const served = join(folder.path, "served");
    const args = ["serve", "--port", "0", "--data", served, "--log-level", "info"];
    const child = startShell(`exec "$@" > /dev/full`, args);
    const end = once(child, "exit");
    const said = await textUntil(child.stderr, "://");
    const url = /http:\/\/[^\s;]+/.exec(said)?.[0];
    for (let request = 0; request < 5; request++) {
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    }
    child.kill("SIGTERM");
    expect(await end).toEqual([0, null]);
  },
  600_000,
);

test.skipIf(!hasFullDevice)(
  "problems that nobody reads about still end verify with 1",
  async () => {
    const damaged = join(folder.path, "damaged");
    await runCli(["put", "note", "1", '{"text":"the letter that changes"}', "--data", damaged]);
    for (const name of (await readdir(damaged)).filter((each) => each.endsWith(".log"))) {
      const bytes = await readFile(join(damaged, name));
      const place = bytes.indexOf("the letter");
      if (place >= 0) bytes[place] = 84;
      await writeFile(join(damaged, name), bytes);
    }
    const child = startShell(`exec "$@"`, ["verify", "--data", damaged]);
    child.stdout.destroy();
    expect((await ended(child)).code).toBe(1);
  },
  600_000,
);

test.skipIf(!hasFullDevice)(
  "a standard input that is closed or a folder, and arguments that are no UTF-8, are refused",
  async () => {
    const put = ["put", "note", "2", "-", "--data", data];
    const closed = await ended(startShell(`"$@" <&-`, put));
    expect(closed).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("standard input is empty") });
    const directory = await ended(startShell(`"$@" < /`, put));
    expect(directory).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("standard input is empty"),
    });
    const bytes = await ended(startShell(`"$@" "$(printf '\\377')" '{}'`, ["put", "--data", data, "note"]));
    expect(bytes).toMatchObject({ code: 2, stdout: "" });
    expect(bytes.stderr).toMatch(/^oncekv: argument 5 is not well-formed UTF-8[^\n]+\n$/);
    expect((await runCli(["list", "note", "--data", data, "--json"])).stdout.split("\n")).toHaveLength(2);
  },
  600_000,
);
