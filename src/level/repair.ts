import { rm } from "node:fs/promises";
import { sep } from "node:path";
import { type Clock, systemClock } from "../base/clock.js";
import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import { FolderFiller, requireEmpty } from "./fill-folder.js";
import { toIso } from "./iso-time.js";
import type { RevisionRange } from "./logged-states.js";
import { openFolder, resolveFolder } from "./open-folder.js";
import { revisionAfterLoss } from "./recover.js";
import { Salvage } from "./salvage.js";
import { copyFolder, openCopy } from "./working-copy.js";

/** A document that a repair could not give back as it last was. */
export interface LostDocument {
  readonly shape: string;
  readonly id: string;
  /**
   * `damaged`: its value is not what was written. `missing`: something else tells that it was there. `doubtful`: it is
   * there again, from the log, but revisions after that state are missing, and it may have changed in them.
   */
  readonly reason: "damaged" | "missing" | "doubtful";
}

/** A stretch of documents in which some may be lost, nobody knows which: their block on the disk is damaged. */
export interface LostStretch {
  /** Behind this document, as `note/"a"`; null: from the first. */
  readonly after: string | null;
  /** Up to this document; null: to the last. */
  readonly up_to: string | null;
  readonly bytes: number;
}

/** What a repair has given and what it could not. Lists hold their first thousand. */
export interface RepairReport {
  /** true: as far as anybody can know, every document is there as it last was. */
  readonly ok: boolean;
  /** Documents in the new folder, expired ones included. */
  readonly documents: number;
  /** Of these, taken from the log, since the document itself was damaged, missing or an older state. */
  readonly from_log: number;
  /** Entries left out, since the log says that their documents were gone. */
  readonly left_out: number;
  /** Where the new folder's revisions begin: past all that the old one can have given out. */
  readonly base_revision: number;
  /** The store's now of the newest thing found, ISO 8601. */
  readonly newest_time: string;
  readonly lost: readonly LostDocument[];
  readonly lost_count: number;
  readonly lost_stretches: readonly LostStretch[];
  /** Commits that nothing tells of any more: what they changed stands as it was before. */
  readonly missing_revisions: readonly RevisionRange[];
  /** Bytes on the disk that are not what was written, as far as they could be counted. */
  readonly damaged_bytes: number;
  /** Everything else that was found, each a sentence. */
  readonly problems: readonly string[];
}

const shownMax = 1000;

/**
 * Makes a new folder from what a damaged one still holds. The damaged folder stays as it is; a copy of it stands beside
 * the new one while the repair works. Each document is its own newest state, from its own entry or from the log;
 * revisions, times and deadlines stay; indexes are made anew; history and write ids begin anew, as after a restore.
 *
 * @param options.into the new folder: empty or not there yet
 * @throws OnceKvError `store_locked` when a process has the folder open, `store_unwritable` when one of the folders cannot
 * be used, `store_format` when the data is not ours or newer, `store_damaged` when there is nothing to salvage
 */
export async function repairFolder(options: {
  readonly dataDir: string;
  readonly into: string;
  readonly onProgress?: (entries: number) => void;
  readonly clock?: Clock;
}): Promise<RepairReport> {
  const folder = resolveFolder(options.dataDir);
  const into = resolveFolder(options.into);
  if (into === folder || into.startsWith(`${folder}${sep}`) || folder.startsWith(`${into}${sep}`)) {
    throw new InvalidRequestError("into", "must be a folder apart from the damaged one, which stays as it is");
  }
  await requireEmpty(into, "repair");
  const copy = `${into}.working`;
  const unreadable = await copyFolder(folder, copy);
  try {
    const opened = await openCopy(copy);
    try {
      const salvage = new Salvage(opened.level, options.onProgress);
      await salvage.survey(opened.blocks.length > 0 || opened.problems.length > 0);
      if (salvage.isForeign) {
        throw new OnceKvError("store_format", `${folder} holds nothing that this version of oncekv has written`);
      }
      const level = await openFolder(into, { create: true });
      try {
        const filler = new FolderFiller(level, undefined);
        await salvage.fill(filler);
        const wallNow = (options.clock ?? systemClock).wallNow();
        const baseRevision = revisionAfterLoss(salvage.newestRevision, wallNow);
        await filler.finish(baseRevision, salvage.newestTime);
        const problems = [...unreadable, ...opened.problems, ...salvage.problems];
        if (opened.droppedBytes > 0) {
          problems.push(`LevelDB has passed over ${opened.droppedBytes} bytes of its own log of writes`);
        }
        const stretches = salvage.stretches(opened.blocks);
        const blockBytes = opened.blocks.reduce((sum, { bytes }) => sum + bytes, 0);
        return {
          ok:
            salvage.lost.length === 0 &&
            salvage.missingRevisions.length === 0 &&
            stretches.length === 0 &&
            unreadable.length + opened.problems.length + opened.droppedBytes === 0 &&
            !salvage.isBeyondCounting,
          documents: filler.documents,
          from_log: salvage.fromLog,
          left_out: salvage.leftOut,
          base_revision: baseRevision,
          newest_time: toIso(salvage.newestTime),
          lost: salvage.lost.slice(0, shownMax),
          lost_count: salvage.lost.length,
          lost_stretches: stretches.slice(0, shownMax),
          missing_revisions: salvage.missingRevisions.slice(0, shownMax),
          damaged_bytes: opened.droppedBytes + Math.max(blockBytes, salvage.damagedBytes),
          problems: problems.slice(0, shownMax),
        };
      } finally {
        await level.close();
      }
    } finally {
      await opened.level.close();
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}
