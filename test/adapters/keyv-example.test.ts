import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("the example of Keyv looks each rate up once", async () => {
  const example = fileURLToPath(new URL("../../examples/adapters/keyv.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", example]);
  expect(stdout).toBe("asked for 5 rates, looked up 2\n");
});
