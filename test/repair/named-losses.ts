import type { RepairReport } from "../../src/level/index.js";

/**
 * Whether a report names a document that is not as it last was: by its name, by a stretch in which it lies, or by the
 * revision that changed it last.
 *
 * @param name as `shape/id`
 * @param revision of its last change
 */
export function isNamedAsLost(
  report: Pick<RepairReport, "lost" | "lost_stretches" | "missing_revisions">,
  name: string,
  revision: number,
): boolean {
  return (
    report.lost.some(({ shape, id }) => `${shape}/${id}` === name) ||
    report.missing_revisions.some(({ from, to }) => from <= revision && revision <= to) ||
    report.lost_stretches.some(({ after, up_to }) => {
      // Names of these tests are in the order of their keys: no shape of theirs begins with another one.
      return (after === null || plain(after) < name) && (up_to === null || name <= plain(up_to));
    })
  );
}

/** A document as a stretch names it, `note/"a"`, written as `note/a`. */
function plain(document: string): string {
  const slash = document.indexOf("/");
  return `${document.slice(0, slash)}/${JSON.parse(document.slice(slash + 1)) as string}`;
}
