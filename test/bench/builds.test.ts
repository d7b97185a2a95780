import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";

const main = fileURLToPath(new URL("../../bench/builds/compare-builds.ts", import.meta.url));
const index = fileURLToPath(new URL("../../src/index.ts", import.meta.url));

let folder: string;
let build: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
  // Tests need no build: this one leads to the sources.
  build = join(folder, "build");
  await mkdir(join(build, "src"), { recursive: true });
  await writeFile(join(build, "package.json"), '{ "type": "module" }');
  await writeFile(join(build, "src/index.js"), `export * from ${JSON.stringify(index)};\n`);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const run = (...args: string[]) =>
  promisify(execFile)(process.execPath, ["--import", "tsx", main, build, ...args, "--tiny", "--dir", folder]);

it("compares two builds in turns, and leaves nothing behind", async () => {
  const { stdout } = await run("create-if-absent", "--callers", "3", "--this", build);
  expect(stdout).toMatch(/^create-if-absent, 3 callers, buffered; .* 2 rounds in turns\n/);
  expect(stdout).toMatch(/operations\/s: [\d.]+ -> [\d.]+, [\d.]+ times \(quartiles [\d.]+ to [\d.]+\)/);
  expect(stdout).toMatch(/processor us an operation: [\d.]+ -> [\d.]+, /);
  expect(await readdir(folder)).toEqual(["build"]);
});

it("names the cases when there is no such one", async () => {
  await expect(run("nothing", "--this", build)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("there is no case nothing; known are put-new"),
  });
  expect(await readdir(folder)).toEqual(["build"]);
});
