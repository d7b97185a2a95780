import { expect, test } from "vitest";
import { exitCodeOf } from "../../cli/exit-codes.js";
import { parsePort, parseSeconds, parseShapes, parseTtl, parseWhole, ttlMember } from "../../cli/option-values.js";
import { Progress } from "../../cli/progress.js";
import { harmless, shownId } from "../../cli/terminal.js";
import { type ErrorCode, errorTable, OnceKvError } from "../../src/base/errors.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { runCli, runProcess } from "./command-line.js";

test("help names every command and exit code; each command's help has examples", async () => {
  const overview = await runProcess(["--help"]);
  expect(overview).toMatchObject({ code: 0, stderr: "" });
  const names = ["serve", "get", "put", "patch", "delete", "list", "watch", "calls", "stats"];
  for (const name of [...names, "backup", "restore", "verify", "repair", "token"]) {
    expect(overview.stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
  }
  for (const code of [0, 1, 2, 3, 4, 5]) expect(overview.stdout).toMatch(new RegExp(`^ {2}${code} {2}\\S`, "m"));
  const put = await runProcess(["help", "put"]);
  expect(put.code).toBe(0);
  expect(put.stdout).toContain("Examples:\n  oncekv put note 1");
});

test("a faulty command line ends with 2 and says what is wrong, with --json as a problem", async () => {
  const unknown = await runCli(["fetch", "note"]);
  expect(unknown).toMatchObject({ code: 2, stdout: "" });
  expect(unknown.stderr).toMatch(/^oncekv: unknown command 'fetch'[^\n]*\n$/);

  const missing = await runCli(["get", "note", "--json"]);
  expect(missing.code).toBe(2);
  expect(JSON.parse(missing.stderr)).toMatchObject({ code: "invalid_request", status: 400 });

  const both = await runCli(["put", "note", "1", "{}", "--if-absent", "--if-revision", "3"]);
  expect(both).toMatchObject({ code: 2, stdout: "" });

  const version = await runProcess(["--version"]);
  expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test("every error has its exit code", () => {
  const codes = Object.keys(errorTable) as ErrorCode[];
  const endingWith = (exit: number): string[] =>
    codes.filter((code) => exitCodeOf(new OnceKvError(code, "")) === exit).sort();
  expect(endingWith(0)).toEqual([]);
  expect(endingWith(2)).toEqual(["invalid_request", "revision_unknown", "too_large", "write_id_conflict"]);
  expect(endingWith(3)).toEqual(["not_found"]);
  expect(endingWith(4)).toEqual(["precondition_failed"]);
  expect(endingWith(5)).toEqual(["outcome_unknown"]);
  expect(exitCodeOf(new Error("anything else"))).toBe(1);
});

test("values of options are read strictly", () => {
  expect(ttlMember(parseTtl("none"))).toEqual({ ttl: null });
  expect(parseTtl("0.5")).toBe(0.5);
  for (const text of ["", " 1", "-1", "1e3", "Infinity", "1s"]) expect(() => parseSeconds(text)).toThrow();
  expect(parseWhole("12")).toBe(12);
  for (const text of ["", "1.0", "0x10", "9007199254740993"]) expect(() => parseWhole(text)).toThrow();
  expect(() => parsePort("65536")).toThrow();
  expect(parseShapes("a, b,", ["c"])).toEqual(["c", "a", "b"]);
});

test("what a terminal would obey is shown instead, and ids that could be mistaken are quoted", () => {
  expect(harmless("a\u001b[2J\n\u202eb\u0085\u2028")).toBe("a\\u001b[2J\n\\u202eb\\u0085\\u2028");
  expect(harmless("\u00e9 \u4e2d \u{1f600}")).toBe("\u00e9 \u4e2d \u{1f600}");
  expect(["a:1", "\u4e2d", "a b", 'a"', "", "a\nb"].map(shownId)).toEqual([
    "a:1",
    "\u4e2d",
    '"a b"',
    '"a\\""',
    '""',
    '"a\\nb"',
  ]);
});

test("progress is a line that is replaced on a terminal, and a line every few seconds elsewhere", () => {
  const shown = (isTerminal: boolean): string[] => {
    const clock = new ManualClock();
    const texts: string[] = [];
    const progress = new Progress("entries", { isTerminal, write: (text) => texts.push(text) }, clock);
    for (let count = 1; count <= 6; count++) {
      clock.advance(1000);
      progress.reached(count * 1000);
    }
    progress.end();
    progress.end();
    return texts;
  };
  expect(shown(false)).toEqual(["5,000 entries\n"]);
  expect(shown(true)).toEqual([...[1, 2, 3, 4, 5, 6].map((count) => `\r${count},000 entries`), "\n"]);
});
