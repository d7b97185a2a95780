import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("the example of Powertools charges each order once", async () => {
  const example = fileURLToPath(new URL("../../examples/adapters/powertools.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", example]);
  expect(stdout).toMatch(/^2 orders, 6 invocations, 2 charges$/m);
});
