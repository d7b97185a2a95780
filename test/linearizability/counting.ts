import { addCounts, type Counts } from "../torture/counts.js";
import { conditionForms, formOf } from "./conditions.js";
import type { Recorded } from "./history-client.js";
import type { RecordedHistory } from "./recorder.js";

/** What every run of histories must have tried: each form of condition, that held and that was refused, and the rest of it. */
export const toBeTried: readonly string[] = [
  ...conditionForms.flatMap((form) => (form === "none" ? ["none held"] : [`${form} held`, `${form} refused`])),
  "puts",
  "patches",
  "renewals",
  "deletes",
  "checks",
  "nothing to patch",
  "batches",
  "writes of one document",
  "writes without a write id",
  "writes sent twice",
  "reads of one",
  "reads of many",
  "pages",
  "walks of several pages",
  "walks during which something changed",
  "walks followed",
  "expiries",
  "unknown outcomes that were applied",
  "unknown outcomes that were not",
  "watches resumed",
  "cuts",
  "kills",
];

/** What is still to be tried. */
export function untried(counts: Counts): readonly string[] {
  return toBeTried.filter((what) => (counts[what] ?? 0) === 0);
}

/** What a history has tried. */
export function countsOf({ recorded, states, walks, followed, kills }: RecordedHistory): Counts {
  const walked = walks.filter(({ pages }) => pages.length > 1);
  let counts: Counts = {
    histories: 1,
    kills,
    operations: recorded.length,
    commits: states.length - 1,
    expiries: states.filter(({ commit }) => commit?.changes.some(({ type }) => type === "expire")).length,
    "walks of several pages": walked.length,
    "walks during which something changed": walked.filter(({ pages }) => pages[0]?.revision !== pages.at(-1)?.revision)
      .length,
    "walks followed": followed.length,
  };
  for (const each of recorded) counts = addCounts(counts, countsOfOne(each));
  return counts;
}

function countsOfOne({ request, output, sending, again }: Recorded): Counts {
  if (output === undefined) return {};
  if (request.kind === "read") return request.ids.length === 1 ? { "reads of one": 1 } : { "reads of many": 1 };
  if (request.kind === "list") return { pages: 1 };
  const failed = output.kind === "refused" ? output.failures.map(({ change }) => change) : [];
  let counts: Counts = {
    ...(output.kind === "missing" ? { "nothing to patch": 1 } : {}),
    ...(again === undefined ? {} : { "writes sent twice": 1 }),
  };
  for (const [index, { kind, condition, ...change }] of request.changes.entries()) {
    const form = formOf(condition);
    if (failed.includes(index)) counts = addCounts(counts, { [`${form} refused`]: 1 });
    if (output.kind !== "written") continue;
    const isRenewal = kind === "patch" && !("merge" in change);
    const names = { put: "puts", patch: "patches", delete: "deletes", check: "checks" };
    counts = addCounts(counts, { [`${form} held`]: 1, [isRenewal ? "renewals" : names[kind]]: 1 });
  }
  if (output.kind !== "written") return counts;
  if (request.changes.length > 1) counts = addCounts(counts, { batches: 1 });
  else if (sending === "single") counts = addCounts(counts, { "writes of one document": 1 });
  return sending === "bare" ? addCounts(counts, { "writes without a write id": 1 }) : counts;
}
