import type { Command } from "commander";
import { withTarget } from "../target.js";
import type { Terminal } from "../terminal.js";
import { addWriteOptions, printWriteResult, readWriteOptions, type WriteCommandOptions } from "../write-options.js";

export function addDeleteCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("delete <shape> <id>")
    .description("remove a document, if it is there")
    .addHelpText(
      "after",
      `
Removing what is not there is no error; --if-exists makes it one (exit code 4).

Examples:
  oncekv delete note 1
  oncekv delete note 1 --if-revision 7 --return`,
    );
  addWriteOptions(command, { canCreate: false }).action(
    async (shape: string, id: string, options: WriteCommandOptions) => {
      const write = { shape, id, ...(await readWriteOptions(terminal, options)) };
      await withTarget(command, options, { create: false, sweep: false }, async ({ store }) => {
        await printWriteResult(
          terminal,
          await store.delete(write),
          { verb: "deleted", shape, id, deletes: true },
          options,
        );
      });
    },
  );
}
