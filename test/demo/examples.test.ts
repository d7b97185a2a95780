import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { runScript } from "./run-script.js";

/** What each example prints; process ids are cut out. */
const outputs: { readonly [script: string]: readonly string[] } = {
  "claim-by-hand.ts": [
    "claimed, attempt 1",
    "in flight; it lapses in at most 60 seconds if its worker dies",
    "completed, attempt 2",
    "claimed again: false result: { delivered: true }",
  ],
  "embedded-store.ts": ["too late, there is already: { text: 'hello', likes: 1 }", "the lock is gone: true"],
  "guard-a-tool.ts": [
    "first: mail 1 to ana@example.com about order 12345 - replay: false",
    "second: mail 1 to ana@example.com about order 12345 - replay: true",
    "later: mail 2 to ana@example.com about order 12345 - replay: false",
    "mails sent: 2",
  ],
  "guard-across-processes.ts": [
    "worker N: charged by process N, attempt 1",
    "worker N: charged by process N, attempt 1 (replay)",
    "worker N: charged by process N, attempt 1 (replay)",
  ],
  "watch-and-resume.ts": [
    "revision 1: put a queued",
    "revision 2: put a running",
    "revision 2: put b queued",
    "revision 3: delete a",
  ],
};

test("every example has its output here", async () => {
  const scripts = await readdir(new URL("../../examples", import.meta.url));
  expect(scripts.filter((name) => name.endsWith(".ts")).sort()).toEqual(Object.keys(outputs).sort());
});

test.each(Object.entries(outputs))("%s runs and prints what it shows", { timeout: 120_000 }, async (script, lines) => {
  const { code, stdout, stderr } = await runScript(script);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const printed = stdout.trimEnd().split("\n");
  if (script !== "guard-across-processes.ts") expect(printed).toEqual(lines);
  // Which of the processes comes first, and in which order they print, is a race.
  else expect(printed.map((line) => line.replaceAll(/\b(worker|process) \d+/g, "$1 N")).sort()).toEqual(lines);
});
