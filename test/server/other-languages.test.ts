import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, type TestContext, test } from "vitest";
import { bodyOf } from "./calls.js";
import { startServer } from "./test-server.js";

const examples = fileURLToPath(new URL("../../examples/other-languages/", import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly errors: string;
}

function run(command: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(command, args, { cwd: examples }, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, lines: stdout.trimEnd().split("\n"), errors: stderr });
    });
  });
}

/** Where the tests count, every example must run. */
function needs(context: TestContext, command: string): void {
  if (spawnSync(command, ["--version"]).status === 0) return;
  if (process.env["CI"]) throw new Error(`${command} is needed where CI is set`);
  context.skip(`${command} is not on this machine`);
}

test("the example in Python fires once, and replays", async (context) => {
  needs(context, "python3");
  const { port, request } = await startServer();
  expect(await run("python3", "guarded_call.py", `http://127.0.0.1:${port}`)).toEqual({
    code: 0,
    errors: "",
    lines: [
      "twice at once: mail 1 replay: False",
      "twice at once: mail 1 replay: True",
      "other arguments: idempotency_conflict",
      "not done: connection refused",
      "tried again: 2 attempts",
      "mails sent: 3",
    ],
  });
  const page = await request("GET", "/v1/tool-calls");
  expect((bodyOf(page)["calls"] as unknown[]).length).toBe(3);
});

test("the example for a shell fires once, and is told what it came to", async (context) => {
  needs(context, "curl");
  const { port, request } = await startServer();
  const url = `http://127.0.0.1:${port}`;
  expect(await run("sh", "guarded-call.sh", url, "2026-01-01")).toEqual({
    code: 0,
    errors: "",
    lines: ["sending the report of 2026-01-01, attempt 1", "done: report of 2026-01-01"],
  });
  expect(await run("sh", "guarded-call.sh", url, "2026-01-01")).toEqual({
    code: 0,
    errors: "",
    lines: ["already done: report of 2026-01-01"],
  });
  const claim = { tool: "send_report", args: { day: "2026-01-02" }, key: "2026-01-02", policy: "review" };
  const { claim_id } = bodyOf(await request("POST", "/v1/tool-calls/claim", { body: claim }));
  await request("POST", "/v1/tool-calls/send_report:2026-01-02/unknown", { body: { claim_id, error: "timeout" } });
  expect(await run("sh", "guarded-call.sh", url, "2026-01-02")).toMatchObject({
    code: 1,
    lines: ["not now: needs_review"],
  });
});
