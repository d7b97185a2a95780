import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("runs the example: two calls are emitted, approved and run in two lives of the process, and there is one effect", async () => {
  const example = fileURLToPath(new URL("../../../examples/adapters/openai-agents.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", example]);
  expect(stdout).toContain("2 calls emitted and run twice, 1 effect");
});
