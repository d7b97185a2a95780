import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeCharts } from "../../bench/charts/charts.js";
import { type BenchReport, reportedSize, reportedTable } from "../../bench/report.js";
import type { BenchRow, BenchTable } from "../../bench/table.js";
import { roundsOf } from "../../bench/world.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

function table(group: string, setting: BenchTable["setting"], rows: readonly BenchRow[]): BenchTable {
  return { group, title: `made up for ${group}`, setting, columns: [], rows, targets: [] };
}

function write(name: string, p50: number, overhead: number | null): BenchRow {
  return { case: name, values: { p50_us: p50, overhead_us: overhead } };
}

function rate(name: string, perSecond: number, more: { readonly [key: string]: number } = {}, note?: string): BenchRow {
  const row = { case: name, values: { operations_per_second: perSecond, ...more } };
  return note === undefined ? row : { ...row, note };
}

const writes = [
  write("put-new", 203.14, null),
  write("create-if-absent", 206.28, 3.14),
  write("put-replacing", 199.5, null),
  write("put-if-revision", 198.4, -1.1),
  write("put-if-fields", 201.7, 2.2),
  write("create-if-absent-refused", 4.2, -195.3),
];

function peers(callers: number): BenchTable {
  return table("peers", { durability: "durable", callers }, [
    rate("lmdb ifNoExists", 99_000, {}, "3.5.6; on disk (await db.flushed)"),
    rate("oncekv create-if-absent", 145_000 + callers, {}, "0.1.0; on disk"),
    { case: "etcd transaction", values: { operations_per_second: null }, note: "missing: etcd is not installed" },
  ]);
}

const tables = [
  table("cas", { durability: "durable", callers: 1 }, writes),
  table("cas", { durability: "buffered", callers: 1 }, writes),
  table("http", { durability: "durable", callers: 1, client: "oncekv/client" }, writes),
  table("http", { durability: "durable", connections: 64, client: "load generator" }, [
    rate("oncekv serve", 38_400, { of_bare: 0.914 }),
    rate("bare node:http, same store", 42_013, { of_bare: 1 }, "checks nothing"),
  ]),
  peers(64),
  peers(512),
  table("scale", { durability: "durable", callers: 1 }, [
    { case: "empty", values: { claim_p50_us: 200.4, claim_p99_us: 410, claim_of_empty: 1, hit_p50_us: null } },
    {
      case: "10,000 documents",
      values: { claim_p50_us: 204.4, claim_p99_us: 420, claim_of_empty: 1.02, hit_p50_us: 3 },
    },
  ]),
];

function reportOf(all: readonly BenchTable[]): BenchReport {
  return {
    started_at: "2026-01-02T03:04:05.678Z",
    duration_seconds: 1,
    machine: {
      cpu: "Some <Processor> & more",
      cores: 2,
      memory_bytes: 1,
      system: "linux 6",
      node: "v20.19.0",
      filesystem: "ext4",
      fdatasync_p50_us: 130,
      load_average: 0.3,
      packages: { oncekv: "0.1.0" },
    },
    doubts: ["The size was quick."],
    code: "built",
    size: reportedSize("quick", roundsOf.quick),
    large: false,
    tables: all.map(reportedTable),
  };
}

/** Draws into a new folder and reads what is in it. */
async function drawn(report: BenchReport): Promise<{ readonly files: Map<string, string>; readonly said: string[] }> {
  const own = await mkdtemp(join(folder, "charts-"));
  const said: string[] = [];
  await writeCharts(report, own, (line) => said.push(line));
  const names = (await readdir(own)).toSorted();
  const files = new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(own, name), "utf8")] as const)),
  );
  return { files, said };
}

/** The texts of an SVG, in their order. Throws when a tag is not closed where it must be, or a text is not escaped. */
function textsOf(svg: string): string[] {
  const open: string[] = [];
  const texts: string[] = [];
  for (const [part, closing, name, rest, text] of svg.matchAll(
    /<(\/?)([\w:]+)((?:\s+[\w:-]+="[^"<]*")*\s*\/?)>|([^<]+)/g,
  )) {
    if (text !== undefined) {
      if (/&(?!(?:amp|lt|gt|quot|#\d+);)/.test(text)) throw new Error(`not escaped: ${text}`);
      if (open.at(-1) === "text") texts.push(text);
    } else if (closing === "/") {
      if (open.pop() !== name) throw new Error(`${part} closes nothing`);
    } else if (!rest?.endsWith("/")) open.push(name ?? "");
  }
  if (open.length > 0 || !svg.startsWith("<svg ")) throw new Error(`not closed: ${open.join(" ")}`);
  return texts;
}

describe("the charts", () => {
  it("are SVG files with a title, the numbers as labels, and at the foot machine, date and doubts", async () => {
    const { files } = await drawn(reportOf(tables));
    expect([...files.keys()]).toEqual(["condition.svg", "http.svg", "peers.svg", "scale.svg"]);
    for (const svg of files.values()) {
      const texts = textsOf(svg);
      expect(texts.slice(-3)).toEqual([
        expect.stringContaining("Some &lt;Processor&gt; &amp; more, 2 cores, linux 6, Node v20.19.0"),
        "oncekv 0.1.0, measured on 2026-01-02",
        "Do not rely on these numbers. The size was quick.",
      ]);
      expect(svg).toContain('fill="#ffffff"');
    }
    const condition = textsOf(files.get("condition.svg") ?? "");
    expect(condition[0]).toBe("What a condition costs");
    expect(condition).toEqual(expect.arrayContaining(["203.1 us", "206.3 us (+3.1 us)", "198.4 us (-1.1 us)"]));
    expect(condition.filter((text) => text === "put-if-fields")).toHaveLength(3);
    expect(condition).not.toContain("create-if-absent-refused");
    const http = textsOf(files.get("http.svg") ?? "");
    expect(http).toEqual(expect.arrayContaining(["64 connections", "38,400/s (0.91 of bare)", "checks nothing"]));
    const scale = textsOf(files.get("scale.svg") ?? "");
    expect(scale).toEqual(expect.arrayContaining(["204.4 us (1.02 of empty)", "420.0 us", "3.0 us"]));
  });

  it("show the peers by their speed, each with what its answer rests on, and name those that are missing", async () => {
    const { files } = await drawn(reportOf(tables));
    const texts = textsOf(files.get("peers.svg") ?? "");
    const named = [
      "64 callers",
      "oncekv create-if-absent",
      "lmdb ifNoExists",
      "512 callers",
      "Not measured: etcd transaction.",
    ];
    expect(texts.filter((text) => named.includes(text))).toEqual([
      ...["64 callers", "oncekv create-if-absent", "lmdb ifNoExists"],
      ...["512 callers", "oncekv create-if-absent", "lmdb ifNoExists"],
      "Not measured: etcd transaction.",
    ]);
    expect(texts).toEqual(expect.arrayContaining(["145,064/s", "145,512/s", "3.5.6; on disk (await db.flushed)"]));
  });

  it("are the same files each time", async () => {
    const first = await drawn(reportOf(tables));
    const second = await drawn(JSON.parse(JSON.stringify(reportOf(tables))) as BenchReport);
    expect(second.files).toEqual(first.files);
  });

  it("are named when the report has no numbers for them", async () => {
    const { files, said } = await drawn(reportOf([]));
    expect(files.size).toBe(0);
    expect(said).toEqual(
      ["condition.svg", "peers.svg", "http.svg", "scale.svg"].map(
        (name) => `no ${name}: the report has no numbers for it`,
      ),
    );
  });
});

describe("npm run bench:chart", () => {
  const main = fileURLToPath(new URL("../../bench/chart.ts", import.meta.url));

  function chart(...args: string[]): Promise<unknown> {
    return promisify(execFile)(process.execPath, ["--import", "tsx", main, ...args]);
  }

  it("draws a written report as the run that wrote it would have", async () => {
    const report = reportOf(tables);
    const file = join(folder, "results.json");
    await writeFile(file, JSON.stringify(report));
    await chart(file, join(folder, "drawn"));
    const { files } = await drawn(report);
    for (const [name, svg] of files) expect(await readFile(join(folder, "drawn", name), "utf8")).toBe(svg);
    await writeFile(file, "{}");
    await expect(chart(file, folder)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("no tables") });
  });

  it("ends with 2 at a wrong command line", async () => {
    await expect(chart("results.json")).rejects.toMatchObject({ code: 2 });
  });
});
