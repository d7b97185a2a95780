import type { CallContext } from "./acquiring.js";
import type { WriteEvent } from "./acquisition-decisions.js";
import { claimTaken } from "./errors.js";
import type { ToolCallRecord } from "./record.js";
import type { RecordStore } from "./record-store.js";
import { stepSettlement } from "./settlement-decisions.js";
import type { CallTiming, RecordPut, RecordWrite } from "./transition-types.js";

/** An outcome on its way: the record as it is, or will be, and whether the store is known to have it. */
export interface Settled {
  readonly record: ToolCallRecord;
  readonly persisted: boolean;
}

/**
 * Writes the outcome of a claim. A store that gives no answer does not keep the caller waiting: the write goes on in the
 * background.
 *
 * @param cause what the tool threw, kept as the cause if the claim is lost
 * @throws ClaimLostError when the outcome was refused, because somebody else's claim or decision stands in the record
 */
export async function settle(
  { records, background, observer }: CallContext,
  first: RecordPut,
  timing: CallTiming,
  details: { readonly cause?: unknown } = {},
): Promise<Settled> {
  const { key } = first.set;
  let write = first;
  for (;;) {
    const step = stepSettlement(write, await records.write(key, write));
    switch (step.step) {
      case "settled":
        return { record: write.set, persisted: true };
      case "lost":
        observer.fenced();
        throw claimTaken(key, step.current, details);
      case "shrink":
        write = step.write;
        break;
      case "again":
        background.settle(key, write, timing);
        return { record: write.set, persisted: false };
      case "refused":
        return { record: write.set, persisted: false };
    }
  }
}

/**
 * Writes, in less room where the store wants that: without a result first, then without all that only explains the record.
 * Who writes decides what an answer that did not come means.
 */
export async function writeWhatFits<Write extends RecordWrite>(
  records: RecordStore,
  key: string,
  first: Write,
): Promise<{ readonly write: Write | RecordPut; readonly event: WriteEvent }> {
  let write: Write | RecordPut = first;
  for (;;) {
    const event = await records.write(key, write);
    const step = write.op === "put" && event.event === "unanswered" ? stepSettlement(write, event) : undefined;
    if (step?.step !== "shrink") return { write, event };
    write = step.write;
  }
}
