import { expect, it } from "vitest";
import { runScript } from "../demo/run-script.js";

it("the example sends one mail for the call that was emitted three times", { timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runScript("adapters/mcp.ts");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.trimEnd().split("\n")).toEqual([
    "call 1: Request timed out",
    "call 2: sent message 1 to ann@example.com, replay: true",
    "call 3: sent message 1 to ann@example.com, replay: true",
    "3 calls emitted, 1 mail sent",
  ]);
});
