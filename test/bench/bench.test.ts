import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CommanderError } from "commander";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseArguments } from "../../bench/arguments.js";
import { WrongResultError } from "../../bench/checks.js";
import { doubtsAbout, type Machine } from "../../bench/machine.js";
import { loadPackage } from "../../bench/package-code.js";
import { type BenchReport, summaryText, tableText } from "../../bench/report.js";
import { type BenchPlan, type BenchRow, type BenchTable, runPlan } from "../../bench/run.js";
import { type OpenTarget, targetsIn } from "../../bench/targets.js";
import { openMemoryStore } from "../../src/index.js";
import { ignoresConditions, withFault } from "./faulty-store.js";

const cases = [
  "put-new",
  "create-if-absent",
  "put-replacing",
  "put-if-revision",
  "put-if-fields",
  "create-if-absent-refused",
];

const tiny: BenchPlan = {
  groups: ["cas"],
  targets: ["embedded", "http"],
  durabilities: ["durable", "buffered"],
  callers: [1, 4],
  rounds: { warmupRounds: 0, rounds: 1, roundMs: 0, operationsPerCaller: 2 },
};

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function tablesOf(plan: BenchPlan, openTarget: OpenTarget): Promise<BenchTable[]> {
  const tables: BenchTable[] = [];
  for await (const table of runPlan(plan, openTarget)) tables.push(table);
  return tables;
}

function expectNumbers(rows: readonly BenchRow[]): void {
  for (const row of rows) {
    expect(row.operations, row.case).toBeGreaterThan(0);
    expect(row.p50_us, row.case).toBeGreaterThan(0);
    expect(row.p99_us, row.case).toBeGreaterThanOrEqual(row.p50_us);
    expect(row.operations_per_second, row.case).toBeGreaterThan(0);
    expect(row.cas_overhead_us === null, row.case).toBe(row.compared_with === null);
    expect(Number.isFinite(row.cas_overhead_us ?? 0), row.case).toBe(true);
  }
}

describe("the benchmarks", () => {
  it("measure every case under every setting, and leave nothing behind", async () => {
    const tables = await tablesOf(tiny, targetsIn(folder, await loadPackage("sources")));
    expect(tables.map(({ setting }) => `${setting.target} ${setting.durability} ${setting.callers}`)).toEqual([
      "embedded durable 1",
      "embedded durable 4",
      "embedded buffered 1",
      "embedded buffered 4",
      "http durable 1",
      "http durable 4",
      "http buffered 1",
      "http buffered 4",
    ]);
    for (const table of tables) {
      expect(table.rows.map((row) => row.case)).toEqual(cases);
      expectNumbers(table.rows);
      expect(tableText(table)).toContain(table.setting.durability);
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it("fail on a wrong result, and close what they have opened", async () => {
    let closed = 0;
    const openTarget: OpenTarget = async () => {
      const store = await openMemoryStore();
      const close = async (): Promise<void> => {
        await store.close();
        closed++;
      };
      return { store: withFault(store, ignoresConditions), close };
    };
    await expect(tablesOf(tiny, openTarget)).rejects.toThrow(WrongResultError);
    expect(closed).toBe(1);
  });

  it("write a report with the machine, the versions and the durability of each row", async () => {
    const file = join(folder, "report.json");
    const main = fileURLToPath(new URL("../../bench/main.ts", import.meta.url));
    const options = ["--tiny", "--sources", "--only", "embedded", "--durability", "buffered", "--dir", folder];
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--import",
      "tsx",
      main,
      ...options,
      "--json",
      file,
    ]);
    expect(stdout).toContain("buffered (a write is answered when the operating system has it");
    expect(stdout).toContain("CAS overhead over a plain write, one caller");
    expect(stdout).toContain("Do not rely on these numbers.");
    const report = JSON.parse(await readFile(file, "utf8")) as BenchReport;
    expect(report).toMatchObject({
      code: "sources",
      size: { name: "tiny", warmup_rounds: 0, rounds: 2, round_ms: 0 },
      machine: { node: process.version, packages: { "classic-level": expect.any(String) } },
    });
    expect(report.machine.fdatasync_p50_us).toBeGreaterThan(0);
    expect(report.rows.map((row) => `${row.callers} ${row.case}`)).toEqual(
      [1, 64].flatMap((callers) => cases.map((one) => `${callers} ${one}`)),
    );
    expect(report.rows.every((row) => row.durability === "buffered" && row.target === "embedded")).toBe(true);
    expectNumbers(report.rows);
    expect(await readdir(folder)).toEqual(["report.json"]);
  });
});

describe("the command line of the benchmarks", () => {
  it("measures everything unless told otherwise", () => {
    const { plan, size, code, jsonFile } = parseArguments([]);
    expect(plan).toMatchObject({
      targets: ["embedded", "http"],
      durabilities: ["durable", "buffered"],
      callers: [1, 64],
    });
    expect({ size, code, jsonFile }).toEqual({ size: "full", code: "built", jsonFile: undefined });
    expect(parseArguments(["cas", "--quick", "--only", "http", "--durability", "durable"])).toMatchObject({
      plan: { groups: ["cas"], targets: ["http"], durabilities: ["durable"] },
      size: "quick",
    });
  });

  it.each([
    [["nothing"]],
    [["--only", "nothing"]],
    [["--durability", "none"]],
    [["--quick", "--tiny"]],
    [["--faster"]],
  ])("refuses %j", (args) => {
    const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    expect(() => parseArguments(args)).toThrow(CommanderError);
    said.mockRestore();
  });
});

describe("the report", () => {
  const row: BenchRow = {
    group: "cas",
    target: "embedded",
    durability: "durable",
    callers: 1,
    case: "create-if-absent",
    operations: 5000,
    p50_us: 203.14,
    p99_us: 412,
    operations_per_second: 4812.6,
    compared_with: "put-new",
    cas_overhead_us: 3.14,
    cas_overhead_quartiles_us: [-0.5, 3.5],
  };

  it("shows each overhead with its quartiles, and none for a plain write", () => {
    const plain: BenchRow = {
      ...row,
      case: "put-new",
      compared_with: null,
      cas_overhead_us: null,
      cas_overhead_quartiles_us: null,
    };
    const lines = tableText({ setting: row, rows: [plain, row] }).split("\n");
    expect(lines[0]).toBe("cas: embedded in this process; 1 caller; durable (a write is answered when it is on disk)");
    expect(lines[2]).toMatch(/^ {2}put-new +203\.1 +412\.0 +4,813 +-$/);
    expect(lines[3]).toMatch(/^ {2}create-if-absent +203\.1 +412\.0 +4,813 +\+3\.1 \(-0\.5 to \+3\.5\)$/);
  });

  it("sums up the writes of one caller that win", () => {
    const text = summaryText([row, { ...row, callers: 64 }, { ...row, case: "create-if-absent-refused" }]);
    expect(text.split("\n")).toEqual([
      "CAS overhead over a plain write, one caller (published elsewhere: 20 to 50 us)",
      "  embedded, durable: create-if-absent  +3.1 us  over put-new",
    ]);
  });

  it("says when the machine was busy and when the disk was none", () => {
    const quiet: Machine = {
      cpu: "some",
      cores: 4,
      memory_bytes: 1,
      system: "linux 6",
      node: "v20.19.0",
      filesystem: "ext4",
      fdatasync_p50_us: 130,
      load_average: 0.3,
      packages: {},
    };
    expect(doubtsAbout(quiet)).toEqual([]);
    expect(doubtsAbout({ ...quiet, load_average: 3 })[0]).toContain("busy");
    expect(doubtsAbout({ ...quiet, filesystem: "tmpfs" })[0]).toContain("--dir");
  });
});
