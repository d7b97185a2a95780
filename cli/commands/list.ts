import { type Command, Option } from "commander";
import type { ListOptions, ListPage } from "../../src/documents/contract.js";
import { documentLine } from "../document-text.js";
import { parseWhole } from "../option-values.js";
import { addTargetOptions, type Target, type TargetOptions, withTarget } from "../target.js";
import { printJson, shownId, type Terminal } from "../terminal.js";

interface ListCommandOptions extends TargetOptions {
  readonly prefix?: string;
  readonly after?: string;
  readonly until?: string;
  readonly limit?: number;
  readonly reverse?: boolean;
  readonly all?: boolean;
}

const narrowestLine = 80;
const widestIdColumn = 40;

export function addListCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("list <shape>")
    .description("show a shape's documents in the order of their ids")
    .option("--prefix <text>", "only ids that begin with this")
    .option("--after <id>", "only ids beyond this one, in the direction of reading")
    .option("--until <id>", "end before this id")
    .option("--reverse", "from the last id to the first")
    .addOption(
      new Option("--limit <n>", "documents on the page, at most 1000 (default: 100)")
        .argParser(parseWhole)
        .conflicts("all"),
    )
    .option("--all", "all pages, not only the first")
    .addHelpText(
      "after",
      `
One page is shown. When there are more documents the last line says how to go on; with --json that line is
{"next":"<id>","revision":<n>} on the standard error.

Examples:
  oncekv list note
  oncekv list tool-call --prefix send_email: --reverse --limit 20
  oncekv list note --all --json > notes.jsonl`,
    );
  addTargetOptions(command).action((shape: string, options: ListCommandOptions) =>
    withTarget(command, options, { create: false, sweep: false }, (target) =>
      listDocuments(terminal, target, shape, options),
    ),
  );
}

async function listDocuments(
  terminal: Terminal,
  target: Target,
  shape: string,
  options: ListCommandOptions,
): Promise<void> {
  const { prefix, until, reverse, all, json } = options;
  const range: ListOptions = {
    ...(prefix === undefined ? {} : { prefix }),
    ...(until === undefined ? {} : { until }),
    ...(reverse === undefined ? {} : { reverse }),
    ...(options.limit === undefined ? {} : { limit: options.limit }),
    ...(all === true ? { limit: target.store.limits.listDocumentsMax } : {}),
  };
  let after = options.after;
  for (;;) {
    const page: ListPage = await target.store.list(shape, { ...range, ...(after === undefined ? {} : { after }) });
    await printPage(terminal, page, json === true);
    if (page.next === null) return;
    if (all !== true) return sayNext(terminal, page.next, page.revision, json === true);
    after = page.next;
  }
}

async function printPage(terminal: Terminal, page: ListPage, asJson: boolean): Promise<void> {
  const longestId = Math.max(0, ...page.documents.map((document) => shownId(document.id).length));
  const lineWidth =
    terminal.columns === undefined ? Number.POSITIVE_INFINITY : Math.max(narrowestLine, terminal.columns);
  for (const document of page.documents) {
    await (asJson
      ? printJson(terminal, document)
      : terminal.print(documentLine(document, Math.min(longestId, widestIdColumn), lineWidth)));
  }
}

function sayNext(terminal: Terminal, next: string, revision: number, asJson: boolean): void {
  terminal.note(
    asJson
      ? JSON.stringify({ next, revision })
      : `there are more: --after${next.startsWith("-") ? "=" : " "}${shownId(next)}, or --all`,
  );
}
