import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { tokenRotation } from "./token-rotation.js";
import { torture } from "./torture.js";
import type { Trial } from "./trial.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a file of this folder as `npm run torture -- <args>` runs main.ts. */
function runFile(file: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ["--import", "tsx", `test/torture/${file}`, ...args],
      { cwd: root },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** What a run in this process has written, and what it threw. */
async function runHere(
  args: readonly string[],
  trials: readonly Trial[],
): Promise<{ lines: string[]; thrown: unknown }> {
  const lines: string[] = [];
  const thrown: unknown = await torture(args, trials, (line) => lines.push(line)).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { lines, thrown };
}

const rotation = "tokens change while requests go on";

test("a piece of one trial prints its seed and what was tried, and the same seed does the same", async () => {
  const args = ["--pieces", "1", "--only", rotation, "--seed", "5"];
  const ended = await runFile("main.ts", ...args);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const [seed = "", piece = "", sum = ""] = ended.stdout.split("\n");
  expect(seed).toBe("seed 5");
  expect(piece).toMatch(new RegExp(`^${rotation} \\d+: \\d+ replaced, \\d+ begun, `));
  expect(sum).toBe(piece.replace(/ \d+: /, " in all: 1 pieces, "));
  const again = await runHere(args, [tokenRotation()]);
  expect(`${again.lines.join("\n")}\n`).toBe(ended.stdout);
}, 600_000);

test("what cannot be followed is refused with one line that names it", async () => {
  const unknown = await runFile("failing-main.ts", "--only", "no such trial");
  expect(unknown).toEqual({ code: 2, stdout: "", stderr: "--only must be one of fragile\n" });
  for (const option of ["--minutes", "--pieces", "--seed", "--repeat"]) {
    for (const text of ["", "-1", "1e3", "Infinity", "x"]) {
      const { thrown } = await runHere([`${option}=${text}`], []);
      expect((thrown as Error).message, option).toBe(`${option} must be a number, not ${text}`);
    }
  }
  expect((await runHere(["--minuets", "1"], [])).thrown).toMatchObject({
    message: expect.stringContaining("--minuets"),
  });
});

test("what a trial finds is printed with the seed that repeats it, and ends the run", async () => {
  const found = await runFile("failing-main.ts", "--pieces", "1000", "--seed", "1");
  expect(found.code).toBe(1);
  const last = found.stdout.trimEnd().split("\n").at(-1) ?? "";
  const [, seed = ""] = /^FAILED fragile, piece \d+ with the seed (\d+)$/.exec(last) ?? [];
  expect(found.stderr).toContain(`Error: found with ${seed}\n`);

  const repeated = await runFile("failing-main.ts", "--only", "fragile", "--repeat", seed);
  expect(repeated.code).toBe(1);
  expect(repeated.stdout).toContain(`FAILED fragile, piece 0 with the seed ${seed}\n`);
  expect(repeated.stderr).toContain(`Error: found with ${seed}\n`);
}, 600_000);

test("when its minutes are over no piece is begun, also in the middle of a round", async () => {
  let [ms, slow, quick] = [5000, 0, 0];
  const trials: readonly Trial[] = [
    { name: "quick", run: async () => ({ tried: ++quick }) },
    {
      name: "slow",
      run: async () => {
        ms += 40_000;
        return { tried: ++slow };
      },
    },
    { name: "last", run: async () => ({ tried: ++quick }) },
  ];
  const lines: string[] = [];
  await torture(
    ["--minutes", "1", "--seed", "1"],
    trials,
    (line) => lines.push(line),
    () => ms,
  );
  // A minute is over in the second slow piece: neither the last of that round nor another round is begun.
  expect({ slow, quick }).toEqual({ slow: 2, quick: 3 });
  expect(lines.at(-1)).toBe("last in all: 1 pieces, 2 tried");
});

test("the names of the trials tell them apart, since --only goes by them", async () => {
  const { trials } = await import("./trials.js");
  expect(new Set(trials.map(({ name }) => name)).size).toBe(trials.length);
});
