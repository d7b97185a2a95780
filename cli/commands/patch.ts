import { type Command, Option } from "commander";
import { readJsonArgument } from "../json-argument.js";
import { parseTtl, ttlMember } from "../option-values.js";
import { withTarget } from "../target.js";
import type { Terminal } from "../terminal.js";
import { addWriteOptions, printWriteResult, readWriteOptions, type WriteCommandOptions } from "../write-options.js";

interface PatchOptions extends WriteCommandOptions {
  readonly ttl?: number | "none";
}

export function addPatchCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("patch <shape> <id> [json]")
    .description("change some fields of a document, or only its time to live")
    .addOption(
      new Option("--ttl <seconds>", 'seconds to live from now, or "none"; else its end stays').argParser(parseTtl),
    )
    .addHelpText(
      "after",
      `
The JSON is a merge patch (RFC 7396): objects merge, null removes a field, anything else replaces. It may come from a
file as @FILE, or from the standard input as -.

Examples:
  oncekv patch note 1 '{"read":true,"draft":null}'
  oncekv patch job 17 --ttl 300 --if-fields '{"worker":"a"}'   renew a claim, if it is still ours

Exit code 3: there is no such document (with a condition: 4).`,
    );
  addWriteOptions(command, { canCreate: false }).action(
    (shape: string, id: string, json: string | undefined, options: PatchOptions) =>
      patchDocument(command, terminal, { shape, id, json }, options),
  );
}

async function patchDocument(
  command: Command,
  terminal: Terminal,
  { shape, id, json }: { readonly shape: string; readonly id: string; readonly json: string | undefined },
  options: PatchOptions,
): Promise<void> {
  const write = {
    shape,
    id,
    ...(json === undefined ? {} : { merge: await readJsonArgument(terminal, json, "the JSON") }),
    ...ttlMember(options.ttl),
    ...(await readWriteOptions(terminal, options)),
  };
  await withTarget(command, options, { create: false, sweep: false }, async ({ store }) => {
    await printWriteResult(terminal, await store.patch(write), { verb: "changed", shape, id }, options);
  });
}
