import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** Runs an example as a user does, in a process of its own. */
async function run(name: string): Promise<{ readonly code: unknown; readonly output: string }> {
  const path = fileURLToPath(new URL(`../../examples/adapters/${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", path], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, "close");
  return { code, output };
}

describe("the examples", () => {
  it.each([
    ["langchain", "calls emitted: 3 - mails sent: 1"],
    ["langgraph-checkpoint", "calls emitted: 2 - mails sent: 1"],
  ])("%s has one mail for a turn in which the worker died", async (name, last) => {
    const { code, output } = await run(name);
    expect(output).toContain("worker: the worker died");
    expect(output).toContain(last);
    expect(code).toBe(0);
  });
});
