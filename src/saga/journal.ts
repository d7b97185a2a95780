import { OnceKvError } from "../base/errors.js";
import type { ToolCallDocument, ToolCalls } from "../tool-calls/index.js";
import { SagaDivergedError, type SagaPart } from "./errors.js";

/*
 * What earlier runs of a saga have done. Its steps are tool calls of their own in the scope of the saga's key, and each is
 * written down with its place before it is fired: the records of that scope are the journal, and there is no second one
 * that could say something else.
 */

/** What the record of each call of a saga keeps besides the call. */
export type PartMark = { readonly saga_part: SagaPart; readonly position: number };

/** The steps that earlier runs have begun, in order. */
export interface Journal {
  readonly names: readonly string[];
  /** Whether an earlier run has begun to compensate: the body must fail again. */
  readonly compensating: boolean;
}

/** @throws SagaDivergedError, `needs_review` when a record is gone; what the store throws */
export async function readJournal(calls: ToolCalls, saga: string): Promise<Journal> {
  const records: ToolCallDocument[] = [];
  let after: string | undefined;
  do {
    const page = await calls.list({ scope: saga, ...(after === undefined ? {} : { after }) });
    records.push(...page.calls);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return journalOf(saga, records);
}

/** Pure: the same records give the same journal. */
export function journalOf(saga: string, records: readonly ToolCallDocument[]): Journal {
  const byPosition = new Map<number, string>();
  let compensating = false;
  for (const { fields } of records) {
    const mark = markOf(fields.extra);
    if (mark?.saga_part === "compensation") compensating = true;
    if (mark?.saga_part !== "step") continue;
    const other = byPosition.get(mark.position);
    if (other !== undefined) {
      throw new SagaDivergedError(saga, `its step ${mark.position + 1} was once "${other}" and once "${fields.tool}"`);
    }
    byPosition.set(mark.position, fields.tool);
  }
  const names: string[] = [];
  for (let position = 0; position < byPosition.size; position++) {
    const name = byPosition.get(position);
    if (name === undefined) {
      throw new OnceKvError(
        "needs_review",
        `the saga ${JSON.stringify(saga)} cannot go on: the record of its step ${position + 1} is gone, and so is what it knew`,
      );
    }
    names.push(name);
  }
  return { names, compensating };
}

/**
 * Whether the step that the body asks for is the one that stands at its place.
 *
 * @returns what is wrong with it; undefined: nothing
 */
export function problemWithStep(journal: Journal, position: number, name: string): string | undefined {
  const recorded = journal.names[position];
  if (recorded === name) return undefined;
  if (recorded !== undefined) return `its step ${position + 1} was "${recorded}" and is now "${name}"`;
  if (journal.names.includes(name)) return `its step "${name}" comes later than it did`;
  if (journal.compensating) return `it was being compensated, and now asks for one more step, "${name}"`;
  return undefined;
}

/**
 * Whether the body may end where it ends.
 *
 * @param failed whether it threw
 * @returns what is wrong with that; undefined: nothing
 */
export function problemWithEnd(journal: Journal, steps: number, failed: boolean): string | undefined {
  const missing = journal.names[steps];
  if (missing !== undefined) return `it ends before its step ${steps + 1}, "${missing}", which was begun before`;
  if (!failed && journal.compensating) return "it was being compensated, and now ends well";
  return undefined;
}

function markOf(extra: ToolCallDocument["fields"]["extra"]): PartMark | undefined {
  const part = extra?.["saga_part"];
  const position = extra?.["position"];
  if ((part !== "step" && part !== "compensation") || typeof position !== "number") return undefined;
  return { saga_part: part, position };
}
