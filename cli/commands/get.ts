import type { Command } from "commander";
import { OnceKvError } from "../../src/base/errors.js";
import { printDocument } from "../document-text.js";
import { addTargetOptions, type TargetOptions, withTarget } from "../target.js";
import { printJson, shownId, type Terminal } from "../terminal.js";

export function addGetCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("get <shape> <id>")
    .description("show a document")
    .addHelpText(
      "after",
      `
Examples:
  oncekv get note 1
  oncekv get note 1 --json | jq .fields
  oncekv get note 1 --data ./data        without a server
  oncekv get note -- -1                  an id that begins with a dash

Exit code 3: there is no such document.`,
    );
  addTargetOptions(command).action((shape: string, id: string, options: TargetOptions) =>
    withTarget(command, options, { create: false, sweep: false }, async ({ store }) => {
      const document = await store.getDocument(shape, id);
      if (document === undefined) throw new OnceKvError("not_found", `there is no ${shape}/${shownId(id)}`);
      await (options.json === true ? printJson(terminal, document) : printDocument(terminal, document));
    }),
  );
}
