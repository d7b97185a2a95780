import type { Command } from "commander";
import type { ToolCalls, ToolCallsOptions } from "../src/tool-calls/index.js";
import { type TargetOptions, withTarget } from "./target.js";

/** Opens the tool calls of what the options name, acts on them, and closes the store. */
export function withCalls(
  command: Command,
  options: TargetOptions,
  act: (calls: ToolCalls) => Promise<void>,
  callOptions: ToolCallsOptions = {},
): Promise<void> {
  return withTarget(command, options, { create: false, sweep: false }, async ({ store }) => {
    // Loaded when needed, as the store itself.
    const { toolCalls } = await import("../src/tool-calls/index.js");
    const calls = toolCalls(store, { owner: "oncekv calls", ...callOptions });
    try {
      await act(calls);
    } finally {
      await calls.close({ timeout: options.timeout });
    }
  });
}
