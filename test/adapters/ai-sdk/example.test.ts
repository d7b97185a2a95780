import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("runs the example: eight calls are emitted, in two lives of the process, and there is one effect", async () => {
  const example = fileURLToPath(new URL("../../../examples/adapters/ai-sdk.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", example]);
  expect(stdout).toContain("8 calls emitted, 1 effect");
});
