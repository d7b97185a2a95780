import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { makeToolCalls } from "../../examples/demo/make-tool-calls.js";
import { runScript } from "../demo/run-script.js";

/** The two runs start seven processes each, and wait for two leases to lapse. */
const timeout = 150_000;

function row(output: string, name: string): string {
  const line = output.split("\n").find((each) => each.startsWith(`  ${name}  `));
  return line?.slice(name.length + 2).trim() ?? `there is no row ${name}`;
}

test("the demo fires every effect once, although workers race and die", { timeout }, async () => {
  const { code, stdout, stderr } = await runScript("demo/main.ts");
  expect(code, stdout + stderr).toBe(0);
  expect(stderr).toBe("");
  expect(row(stdout, "calls seen")).toBe("352 (350 in the file, 2 delivered again)");
  expect(row(stdout, "effects fired")).toBe("189 (expected: 189)");
  expect(row(stdout, "replays")).toBe("160");
  expect(row(stdout, "conflicts caught")).toBe("1");
  expect(row(stdout, "crashes survived")).toBe("2");
  expect(row(stdout, "duplicates at the mail service")).toBe("0");
  expect(row(stdout, "fired again after a crash, refused by key")).toBe("1");
  expect(row(stdout, "claim, median")).toMatch(/^\d+\.\d+ ms$/);
  expect(row(stdout, "plain put, median")).toMatch(/^\d+\.\d+ ms \(the claim: [+-]?\d+ us\)$/);
  expect(stdout).toMatch(/was killed \(SIGKILL\) in .*, before the effect/);
  expect(stdout).toMatch(/was killed \(SIGKILL\) in .*, after the effect/);
  expect(stdout.match(/took over .*: attempt 2/g)).toHaveLength(2);
});

test("the same demo without the guard doubles effects, says so, and fails", { timeout }, async () => {
  const { code, stdout } = await runScript("demo/main.ts", "--without-guard");
  expect(code, stdout).toBe(1);
  // 350 calls, each of them a mail, and one more after the crash that came after its effect.
  expect(row(stdout, "effects fired")).toBe("351 (expected: 189)");
  expect(row(stdout, "duplicates at the mail service")).toBe("162");
  expect(stdout).toContain("Effects were doubled or are missing.");
});

test("the calls in the file are the ones that the script makes", async () => {
  const text = await readFile(new URL("../../examples/tool-calls.jsonl", import.meta.url), "utf8");
  const made = makeToolCalls().map((call) => JSON.stringify(call));
  expect(text).toBe(`${made.join("\n")}\n`);
});
