import { type Command, Option } from "commander";
import { readJsonArgument } from "../json-argument.js";
import { parseTtl, ttlMember } from "../option-values.js";
import { withTarget } from "../target.js";
import type { Terminal } from "../terminal.js";
import { addWriteOptions, printWriteResult, readWriteOptions, type WriteCommandOptions } from "../write-options.js";

interface PutOptions extends WriteCommandOptions {
  readonly ttl?: number | "none";
}

export function addPutCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("put <shape> <id> <json>")
    .description("replace a document's fields, or create it")
    .addOption(new Option("--ttl <seconds>", 'seconds to live, or "none"').argParser(parseTtl))
    .addHelpText(
      "after",
      `
The fields are a JSON object: on the command line, from a file as @FILE, or from the standard input as -.
Without --ttl the document lives for ever, or as long as the store says for its shape.

Examples:
  oncekv put note 1 '{"text":"hello"}'
  oncekv put job 17 '{"worker":"a"}' --if-absent --ttl 300     claim it: one of many callers succeeds
  oncekv put note 1 @note.json --if-revision 7                 unless somebody has written meanwhile
  jq -c . note.json | oncekv put note 1 -`,
    );
  addWriteOptions(command, { canCreate: true }).action((shape: string, id: string, json: string, options: PutOptions) =>
    putDocument(command, terminal, { shape, id, json }, options),
  );
}

async function putDocument(
  command: Command,
  terminal: Terminal,
  { shape, id, json }: { readonly shape: string; readonly id: string; readonly json: string },
  options: PutOptions,
): Promise<void> {
  const set = await readJsonArgument(terminal, json, "the JSON");
  const write = {
    shape,
    id,
    set,
    ...ttlMember(options.ttl),
    ...(await readWriteOptions(terminal, options)),
  };
  await withTarget(command, options, { create: true, sweep: false }, async ({ store }) => {
    const result = await store.put(write);
    await printWriteResult(terminal, result, { verb: result.created ? "created" : "replaced", shape, id }, options);
  });
}
