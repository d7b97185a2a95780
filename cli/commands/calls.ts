import type { Command } from "commander";
import type { Terminal } from "../terminal.js";
import { addCallDecisionCommands } from "./calls-decide.js";
import { addCallReadCommands } from "./calls-read.js";

/** `oncekv calls ...`: looking at tool calls, and deciding about those that wait for a person. */
export function addCallsCommand(program: Command, terminal: Terminal): void {
  const calls = program
    .command("calls")
    .description("look at tool calls, and decide about those in doubt")
    .addHelpText(
      "after",
      `
Examples:
  oncekv calls list --in-doubt
  oncekv calls show send_email:order-7
  oncekv calls resolve send_email:order-7 --not-done --by ann --note "not in the outbox"`,
    );
  addCallReadCommands(calls, terminal);
  addCallDecisionCommands(calls, terminal);
}
