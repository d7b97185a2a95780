import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CommanderError } from "commander";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseArguments } from "../../bench/arguments.js";
import { WrongResultError } from "../../bench/checks.js";
import { runCommand } from "../../bench/command.js";
import { withFolder } from "../../bench/opened-stores.js";
import type { BenchReport } from "../../bench/report.js";
import type { BenchTable } from "../../bench/table.js";
import type { BenchGroup } from "../../bench/world.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** A table of one row, whose one target is reached or not. */
function madeTable(group: string, reached: boolean): BenchTable {
  return {
    group,
    title: `made by ${group}`,
    setting: { durability: "durable", callers: 1 },
    columns: [{ key: "p50_us", heading: "p50 us", digits: 1 }],
    rows: [{ case: "put", values: { operations: 3, p50_us: 12.34 } }],
    targets: [{ name: "a put", measured: reached ? 5 : 15, unit: "us", relation: "at most", target: 10 }],
  };
}

/** A group that must not run. */
const never: BenchGroup = () => {
  throw new Error("this group must not run");
};

/** Runs the command in this process, over groups that were made for it. */
async function run(
  args: readonly string[],
  groups: { readonly [name: string]: BenchGroup },
  interrupted = new AbortController(),
): Promise<{ readonly code: number; readonly printed: string; readonly said: string }> {
  const printed: string[] = [];
  const said: string[] = [];
  const code = await runCommand(["--sources", "--tiny", "--dir", folder, ...args], {
    groups,
    signal: interrupted.signal,
    print: (text) => printed.push(text),
    say: (line) => said.push(line),
  });
  return { code, printed: printed.join("\n"), said: said.join("\n") };
}

describe("the command of the benchmarks", () => {
  it("prints each table as soon as it is complete, then the targets and what speaks against the numbers", async () => {
    const order: string[] = [];
    const group = (name: string, reached: boolean): BenchGroup =>
      async function* () {
        order.push(`${name} begins`);
        yield madeTable(name, reached);
        order.push(`${name} ends`);
      };
    const { code, printed, said } = await run([], { first: group("first", true), second: group("second", false) });
    expect(code).toBe(0);
    expect(order).toEqual(["first begins", "first ends", "second begins", "second ends"]);
    const inOrder = ["first: made by first", "second: made by second", "Targets: 1 of 2 reached", "The size was tiny."];
    expect(inOrder.map((line) => printed.indexOf(line))).toEqual(
      inOrder.map((line) => printed.indexOf(line)).toSorted((one, other) => one - other),
    );
    expect(printed).toMatch(/first: a put +5 us +at most 10 us +reached/);
    expect(printed).toMatch(/second: a put +15 us +at most 10 us +NOT reached/);
    expect(said).toBe("first ...\nsecond ...");
  });

  it("runs the groups that are asked for, each once, with what the command line says", async () => {
    const worlds: unknown[] = [];
    const group: BenchGroup = async function* ({ size, large, durabilities, folder: where, rounds }) {
      worlds.push({ size, large, durabilities, where, rounds: rounds.rounds });
      yield madeTable("asked", true);
    };
    const { code } = await run(["asked", "asked", "--large", "--durability", "buffered"], { never, asked: group });
    expect(code).toBe(0);
    expect(worlds).toEqual([{ size: "tiny", large: true, durabilities: ["buffered"], where: folder, rounds: 2 }]);
  });

  it("ends with 1 at a wrong result, runs no further group, and leaves nothing behind", async () => {
    const wrong: BenchGroup = async function* (world) {
      yield madeTable("wrong", true);
      await withFolder(world.folder, () => {
        throw new WrongResultError("it must hold one, but holds two");
      });
    };
    const { code, said } = await run(["--json", join(folder, "results.json")], { wrong, never });
    expect(code).toBe(1);
    expect(said).toContain("it must hold one, but holds two");
    expect(said).not.toContain("must not run");
    expect(await readdir(folder)).toEqual([]);
  });

  it("takes a number that is none for a wrong result", async () => {
    const table = madeTable("made", true);
    const made: BenchGroup = async function* () {
      yield { ...table, rows: [{ case: "put", values: { p50_us: Number.NaN } }] };
    };
    const { code, said } = await run([], { made });
    expect(code).toBe(1);
    expect(said).toContain("p50_us of put is NaN");
  });

  it("finishes the group under way when it is interrupted, and ends with 130", async () => {
    const interrupted = new AbortController();
    let finished = false;
    const group: BenchGroup = async function* () {
      try {
        interrupted.abort();
        yield madeTable("first", true);
        throw new Error("the group must be ended here");
      } finally {
        finished = true;
      }
    };
    const { code, said } = await run([], { first: group, second: group }, interrupted);
    expect({ code, finished, said }).toEqual({ code: 130, finished: true, said: "first ...\ninterrupted" });
  });

  it("fails before it measures when the results could not be written", async () => {
    const { code, said } = await run(["--json", join(folder, "missing", "results.json")], { never });
    expect(code).toBe(1);
    expect(said).toContain("ENOENT");
  });

  it.each([
    [["nothing"]],
    [["made", "--durability", "none"]],
    [["--quick"]],
    [["--faster"]],
    [["--json"]],
    [["--chart"]],
  ])("ends with 2 after explaining what is wrong with %j", async (args) => {
    const explained = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const { code } = await run(args, { made: never });
    expect(explained.mock.calls.join("")).toContain("error: ");
    explained.mockRestore();
    expect(code).toBe(2);
  });

  it("explains itself and ends with 0", async () => {
    const explained = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    const { code } = await run(["--help"], { made: never });
    expect(explained.mock.calls.join("")).toContain("npm run bench -- [options] [groups...]");
    explained.mockRestore();
    expect(code).toBe(0);
  });
});

describe("the command line of the benchmarks", () => {
  it("measures everything unless told otherwise", () => {
    expect(parseArguments([], ["cas", "http"])).toEqual({
      groups: ["cas", "http"],
      durabilities: ["durable", "buffered"],
      size: "full",
      large: false,
      code: "built",
      folder: tmpdir(),
      jsonFile: undefined,
      chartFolder: undefined,
    });
  });

  it("takes groups and options in any order", () => {
    const args = ["--quick", "http", "--durability", "durable", "cas", "--json", "a", "--chart", "b", "--dir", "c"];
    expect(parseArguments(args, ["cas", "http"])).toMatchObject({
      groups: ["http", "cas"],
      durabilities: ["durable"],
      size: "quick",
      jsonFile: "a",
      chartFolder: "b",
      folder: "c",
    });
  });

  it("refuses two sizes", () => {
    const explained = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    expect(() => parseArguments(["--quick", "--tiny"], ["cas"])).toThrow(CommanderError);
    explained.mockRestore();
  });
});

describe("npm run bench", () => {
  const main = fileURLToPath(new URL("../../bench/main.ts", import.meta.url));

  function bench(...args: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    return promisify(execFile)(process.execPath, ["--import", "tsx", main, ...args]);
  }

  it("writes a report with the machine, the versions and all tables, and the charts it suffices for", async () => {
    const file = join(folder, "results.json");
    const charts = join(folder, "charts");
    const outputs = ["--json", file, "--chart", charts];
    const { stdout, stderr } = await bench("cas", "--tiny", "--sources", "--dir", folder, ...outputs);
    expect(stdout).toContain("durable (a write is answered when it is on disk)");
    expect(stdout).toContain("buffered (a write is answered when the operating system has it");
    expect(stdout).toMatch(/^Targets: \d+ of \d+ reached$/m);
    expect(stdout).toContain("Do not rely on these numbers.");
    const report = JSON.parse(await readFile(file, "utf8")) as BenchReport;
    expect(report).toMatchObject({
      code: "sources",
      size: { name: "tiny", warmup_rounds: 0, rounds: 2, round_ms: 0, operations_per_caller: 3 },
      large: false,
      machine: { node: process.version, packages: { "classic-level": expect.any(String) } },
    });
    expect(report.duration_seconds).toBeGreaterThan(0);
    expect(report.machine.fdatasync_p50_us).toBeGreaterThan(0);
    expect(report.tables.length).toBeGreaterThan(0);
    for (const { group, title, setting, rows, targets } of report.tables) {
      expect(group).toBe("cas");
      expect(stdout).toContain(`cas: ${title}`);
      expect(title).toContain(setting["durability"]);
      expect(rows.length, title).toBeGreaterThan(0);
      for (const target of targets) expect(target.reached).toBeTypeOf("boolean");
    }
    expect(stderr).toContain("no peers.svg: the report has no numbers for it");
    expect(await readdir(charts)).toEqual(["condition.svg"]);
    expect((await readdir(folder)).toSorted()).toEqual(["charts", "results.json"]);
  });

  it("ends with 130 when it is interrupted, and leaves nothing behind", async () => {
    const args = ["--import", "tsx", main, "cas", "--quick", "--sources", "--dir", folder];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    // The first line tells that measuring begins.
    await once(child.stdout, "data");
    child.kill("SIGINT");
    const said = text(child.stderr);
    child.stdout.resume();
    const [code] = await once(child, "exit");
    expect({ code, said: await said }).toEqual({ code: 130, said: expect.stringContaining("interrupted") });
    expect(await readdir(folder)).toEqual([]);
  });

  it("ends with 2 at a wrong command line", async () => {
    await expect(bench("nothing")).rejects.toMatchObject({ code: 2, stdout: "" });
  });
});
