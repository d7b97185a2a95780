import { type Command, Option } from "commander";
import { systemClock } from "../../src/base/clock.js";
import { InvalidRequestError } from "../../src/base/errors.js";
import type { WatchOptions } from "../../src/documents/contract.js";
import { parseWhole } from "../option-values.js";
import { addTargetOptions, type Target, type TargetOptions, withTarget } from "../target.js";
import { printJson, type Terminal } from "../terminal.js";

interface WatchCommandOptions extends TargetOptions {
  readonly since?: number;
  readonly prefix?: string;
  readonly bookmarks?: boolean;
}

export function addWatchCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("watch [shape] [id]")
    .description("follow the changes, one JSON line a commit, until interrupted")
    .addOption(new Option("--since <revision>", "from after this revision; else from now on").argParser(parseWhole))
    .option("--prefix <text>", "only ids that begin with this")
    .option("--bookmarks", "lines without changes too, which say how far an idle stream has come")
    .addHelpText(
      "after",
      `
Each line is {"revision":<n>,"changes":[{"type":"put"|"delete"|"expire","shape","id","document"}]}. To go on later
without missing anything, give the last revision seen as --since; history reaches back a limited time, and beyond it
the command fails with revision_compacted.

Examples:
  oncekv watch
  oncekv watch note
  oncekv watch tool-call --since 1200 | jq -c '.changes[] | [.type, .id]'`,
    );
  addTargetOptions(command).action(
    (shape: string | undefined, id: string | undefined, options: WatchCommandOptions) => {
      if (shape === undefined && options.prefix !== undefined)
        throw new InvalidRequestError("", "--prefix needs a shape");
      return withTarget(command, options, { create: false, sweep: true }, (target) =>
        followChanges(
          terminal,
          target,
          {
            ...(shape === undefined ? {} : { shape }),
            ...(id === undefined ? {} : { id }),
            ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
            ...(options.since === undefined ? {} : { since: options.since }),
          },
          options.bookmarks === true,
        ),
      );
    },
  );
}

async function followChanges(
  terminal: Terminal,
  target: Target,
  range: WatchOptions,
  showBookmarks: boolean,
): Promise<void> {
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort();
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  // Nothing else keeps a process alive that waits for changes in a folder of its own.
  const letGo = systemClock.setTimer(Number.MAX_SAFE_INTEGER, () => {}, { keepAlive: true });
  try {
    const { signal } = interruption;
    // Named rather than "from now on": once the line is out nothing is missed, also while the connection is being made.
    const since = range.since ?? (await revisionOf(target, range.shape));
    terminal.note(`watching from after revision ${since}; an interrupt (ctrl-c) ends it`);
    for await (const commit of target.store.watch({ ...range, since, signal })) {
      if (commit.changes.length > 0 || showBookmarks) await printJson(terminal, commit);
    }
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
  } finally {
    letGo();
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}

/** The store's revision now. Over HTTP a page says it; its shape only matters to a token that may not read all. */
async function revisionOf(target: Target, shape = "any"): Promise<number> {
  if (target.kind === "folder") return target.store.revision;
  return (await target.store.list(shape, { limit: 1 })).revision;
}
