import { type Command, Option } from "commander";
import type { Condition, Document, WriteResult } from "../src/documents/contract.js";
import { printDocument } from "./document-text.js";
import { readJsonArgument } from "./json-argument.js";
import { parseWhole } from "./option-values.js";
import { addTargetOptions, type TargetOptions } from "./target.js";
import { printJson, shownId, type Terminal } from "./terminal.js";

/** What `put`, `patch` and `delete` have in common. */
export interface WriteCommandOptions extends TargetOptions {
  readonly ifAbsent?: boolean;
  readonly ifExists?: boolean;
  readonly ifRevision?: number;
  readonly ifFields?: string;
  readonly return?: boolean;
  readonly writeId?: string;
}

/** Adds the conditions, `--return` and `--write-id`. Only a put can succeed where nothing is. */
export function addWriteOptions(command: Command, settings: { readonly canCreate: boolean }): Command {
  const group = "The condition (else exit code 4, and nothing is written):";
  if (settings.canCreate) {
    command.addOption(
      new Option("--if-absent", "only if there is no such document")
        .conflicts(["ifExists", "ifRevision", "ifFields"])
        .helpGroup(group),
    );
  }
  command
    .addOption(new Option("--if-exists", "only if there is one").helpGroup(group))
    .addOption(new Option("--if-revision <n>", "only if its revision is this").argParser(parseWhole).helpGroup(group))
    .addOption(
      new Option("--if-fields <json>", "only if these fields have these values; @FILE reads a file").helpGroup(group),
    )
    .option("--return", "show the document too; for a delete the one that went")
    .option("--write-id <id>", "names the write: repeating it with the same id applies it once");
  return addTargetOptions(command);
}

/** The members of a write that come from these options. A condition that was not asked for is left out, not undefined. */
export async function readWriteOptions(
  terminal: Terminal,
  options: WriteCommandOptions,
): Promise<{ if_match?: Condition; write_id?: string; return?: "document" }> {
  const condition: Condition = {
    ...(options.ifAbsent === true ? { exists: false } : {}),
    ...(options.ifExists === true ? { exists: true } : {}),
    ...(options.ifRevision === undefined ? {} : { revision: options.ifRevision }),
    ...(options.ifFields === undefined
      ? {}
      : { fields: await readJsonArgument(terminal, options.ifFields, "--if-fields") }),
  };
  return {
    ...(Object.keys(condition).length === 0 ? {} : { if_match: condition }),
    ...(options.writeId === undefined ? {} : { write_id: options.writeId }),
    ...(options.return === true ? { return: "document" } : {}),
  };
}

/** Prints what a write answered. */
export async function printWriteResult(
  terminal: Terminal,
  result: WriteResult,
  write: { readonly verb: string; readonly shape: string; readonly id: string; readonly deletes?: boolean },
  options: WriteCommandOptions,
): Promise<void> {
  if (options.json === true) return printJson(terminal, result);
  const expiry = write.deletes === true ? "" : `, expires ${result.expires_at ?? "never"}`;
  const replay = result.replayed === true ? " (the answer to an earlier request with this write id)" : "";
  await terminal.print(
    `${write.verb} ${write.shape}/${shownId(write.id)} at revision ${result.revision}${expiry}${replay}`,
  );
  const document: Document | null | undefined = result.document;
  if (document === null) await terminal.print("there was none");
  else if (document !== undefined) await printDocument(terminal, document);
}
