import { describe, expect, it } from "vitest";
import { WrongResultError } from "../../bench/checks.js";
import { doubtsAbout, type Machine } from "../../bench/machine.js";
import { reportedTable } from "../../bench/report.js";
import { numberText, tableText, targetsText } from "../../bench/report-text.js";
import { type BenchTable, comparedColumns, type TargetResult } from "../../bench/table.js";

const machine: Machine = {
  cpu: "some <processor> & more",
  cores: 4,
  memory_bytes: 1,
  system: "linux 6",
  node: "v20.19.0",
  filesystem: "ext4",
  fdatasync_p50_us: 130,
  load_average: 0.3,
  packages: { oncekv: "0.1.0" },
};

function timed(p50: number, rate: number): { [key: string]: number } {
  return { operations: 5000, p50_us: p50, p99_us: 2 * p50, operations_per_second: rate };
}

const plain = { overhead_us: null, overhead_q1_us: null, overhead_q3_us: null };

const casTable: BenchTable = {
  group: "cas",
  title: "embedded in this process; 1 caller; durable (a write is answered when it is on disk)",
  setting: { durability: "durable", callers: 1 },
  columns: comparedColumns,
  rows: [
    { case: "put-new", values: { ...timed(203.14, 4812.6), ...plain } },
    {
      case: "create-if-absent",
      values: { ...timed(206.28, 4799), overhead_us: 3.14, overhead_q1_us: -0.5, overhead_q3_us: 3.5 },
      note: "over put-new",
    },
  ],
  targets: [],
};

describe("the text of a table", () => {
  it("has the title, the headings, and the notes at the ends of the rows", () => {
    expect(tableText(casTable).split("\n")).toEqual([
      "cas: embedded in this process; 1 caller; durable (a write is answered when it is on disk)",
      "                    p50 us  p99 us  operations/s  over it, us  from    to",
      "  put-new            203.1   406.3         4,813            -     -     -",
      "  create-if-absent   206.3   412.6         4,799         +3.1  -0.5  +3.5  over put-new",
    ]);
  });

  it("shows numbers as they were rounded, and no sign of a nothing", () => {
    expect(numberText(1234567.891, 1)).toBe("1,234,567.9");
    expect(numberText(0.04, 1, true)).toBe("0.0");
    expect(numberText(-0.04, 1)).toBe("0.0");
    expect(numberText(-0.06, 1)).toBe("-0.1");
  });
});

describe("the summary of the targets", () => {
  const fast: TargetResult = { name: "a put", measured: 5, unit: "us", relation: "at most", target: 5 };
  const slow: TargetResult = {
    name: "sweep",
    measured: 93_100.4,
    unit: "documents/s",
    relation: "at least",
    target: 1e5,
  };

  it("says of each what was measured, what was to be reached, and whether it was", () => {
    const http = { ...casTable, group: "http", targets: [{ ...slow, measured: 1.0312, unit: "x", target: 1.03 }] };
    expect(targetsText([{ ...casTable, targets: [fast, slow] }, http]).split("\n")).toEqual([
      "Targets: 2 of 3 reached",
      "  cas: a put                 5 us                  at most 5 us  reached",
      "  cas: sweep   93,100 documents/s  at least 100,000 documents/s  NOT reached",
      "  http: sweep               1.03x                at least 1.03x  reached",
    ]);
  });

  it("is empty where nothing was to be reached", () => {
    expect(targetsText([casTable])).toBe("");
  });
});

describe("what speaks against the numbers", () => {
  it("is a busy machine, or a disk that is none", () => {
    expect(doubtsAbout(machine)).toEqual([]);
    expect(doubtsAbout({ ...machine, load_average: 3 })[0]).toContain("busy");
    expect(doubtsAbout({ ...machine, filesystem: "tmpfs" })[0]).toContain("--dir");
  });
});

describe("the table in the report", () => {
  const reached: TargetResult = { name: "a put", measured: 5, unit: "us", relation: "at most", target: 5 };

  it("says of each target whether it was reached", () => {
    const { targets, ...rest } = reportedTable({ ...casTable, targets: [reached, { ...reached, measured: 5.01 }] });
    expect({ ...rest, targets: [] }).toEqual(casTable);
    expect(targets.map((target) => target.reached)).toEqual([true, false]);
  });

  it("is refused when a number of it is none", () => {
    const rows = [{ case: "put", values: { p50_us: Number.POSITIVE_INFINITY } }];
    expect(() => reportedTable({ ...casTable, rows })).toThrow(WrongResultError);
    expect(() => reportedTable({ ...casTable, targets: [{ ...reached, measured: Number.NaN }] })).toThrow(
      "a put is NaN",
    );
  });
});
