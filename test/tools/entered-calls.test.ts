import { describe, expect, it } from "vitest";
import type { ToolCall } from "../../src/tool-calls/index.js";
import { callOf, noteEntered } from "../../src/tools/entered-calls.js";
import { noteGuard } from "../../src/tools/guard.js";
import { explainTools, guardTools } from "../../src/tools/index.js";
import { openScene } from "../tool-calls/scene.js";

describe("a tool of a framework's make", () => {
  it("finds its call by what it was entered with, and by nothing else", () => {
    const options = {};
    const call = { key: "send:1" } as ToolCall;
    noteEntered(options, call);
    expect(callOf(options)).toBe(call);
    for (const other of [{}, undefined, null, "options"]) expect(callOf(other)).toBeUndefined();
  });

  it("is not guarded again behind an adapter's function that guards", async () => {
    const { worker } = await openScene();
    const send = { name: "send", execute: () => 1 };
    noteGuard(send.execute);
    expect(explainTools([send])).toMatchObject({ send: { sideEffect: false, reasons: ["it is guarded already"] } });
    expect(guardTools([send], worker("A").calls, { scope: "t" })[0]).toBe(send);
  });
});
