import { type Client, createClient } from "../../client/index.js";
import type { BatchOperation, Condition, Document } from "../../src/documents/contract.js";
import { PreconditionFailedError } from "../../src/documents/precondition-failed.js";
import type { ModelChange, Output, Seen } from "./document-model.js";

/*
 * One client in a process of its own: carries out a plan, one operation after the other, and tells what it was answered and
 * when, by the machine's monotonic clock, which all its processes share.
 */

/** What is to be done. `seenRevision` stands for the revision that this client has seen last of the document. */
export type PlannedChange = Omit<ModelChange, "condition"> & {
  readonly condition?: ModelChange["condition"] | "seen_revision" | "seen_value" | undefined;
};
export type PlannedOperation =
  | { readonly kind: "get"; readonly id: string }
  | { readonly kind: "write"; readonly changes: readonly PlannedChange[] };

/** What came of it. */
export interface Recorded {
  readonly planned:
    | { readonly kind: "get"; readonly id: string }
    | { readonly kind: "write"; readonly changes: readonly ModelChange[] };
  readonly output: Output | undefined;
  /** The code of the error behind an unknown output. */
  readonly fault: string | undefined;
  readonly called: bigint;
  readonly returned: bigint;
}

export interface ClientMessage {
  readonly url: string;
  readonly plan: readonly PlannedOperation[];
}

const shape = "register";
const seen = new Map<string, Seen>();

process.on("message", async ({ url, plan }: ClientMessage) => {
  const store = createClient({ url, retryFor: 2, timeout: 2 });
  const recorded: Recorded[] = [];
  for (const operation of plan) recorded.push(await carryOut(store, operation));
  await store.close();
  process.send?.(recorded);
});
process.on("disconnect", () => process.exit(0));

async function carryOut(store: Client, operation: PlannedOperation): Promise<Recorded> {
  const planned = operation.kind === "get" ? operation : { ...operation, changes: operation.changes.map(settle) };
  const called = process.hrtime.bigint();
  const { output, fault } = await answerOf(store, planned);
  const returned = process.hrtime.bigint();
  remember(planned, output);
  return { planned, output, fault, called, returned };
}

async function answerOf(
  store: Client,
  planned: Recorded["planned"],
): Promise<{ readonly output: Output | undefined; readonly fault: string | undefined }> {
  try {
    if (planned.kind === "get") {
      const document = await store.getDocument(shape, planned.id);
      return {
        output: document === undefined ? { kind: "absent" } : { kind: "found", ...seenOf(document) },
        fault: undefined,
      };
    }
    const { revision, results } = await store.batch(planned.changes.map(operationOf));
    return {
      output: { kind: "written", revision, deadlines: results.map(({ expires_at }) => instantOf(expires_at)) },
      fault: undefined,
    };
  } catch (error) {
    if (error instanceof PreconditionFailedError) {
      const [first] = error.failures;
      if (first !== undefined) {
        const current = first.current === null ? null : seenOf(first.current);
        return { output: { kind: "refused", change: first.index, current }, fault: undefined };
      }
    }
    return { output: undefined, fault: error instanceof Error && "code" in error ? String(error.code) : String(error) };
  }
}

function settle({ condition, ...change }: PlannedChange): ModelChange {
  const last = seen.get(change.id);
  if (condition === "seen_revision")
    return { ...change, condition: last === undefined ? { exists: false } : { revision: last.revision } };
  if (condition === "seen_value")
    return { ...change, condition: last === undefined ? { exists: true } : { value: last.value } };
  return condition === undefined ? change : { ...change, condition };
}

function operationOf({ id, value, ttl, condition }: ModelChange): BatchOperation {
  const guard = condition === undefined ? {} : { if_match: conditionOf(condition) };
  if (value === null) return { op: "delete", shape, id, ...guard };
  return { op: "put", shape, id, set: { value }, ...(ttl === undefined ? {} : { ttl: ttl / 1000 }), ...guard };
}

function conditionOf(condition: NonNullable<ModelChange["condition"]>): Condition {
  return "value" in condition ? { fields: { value: condition.value } } : condition;
}

function seenOf({ fields, revision, expires_at }: Document): Seen {
  return { value: Number(fields["value"]), revision, deadline: instantOf(expires_at) };
}

function instantOf(expiresAt: string | null): number | null {
  return expiresAt === null ? null : Date.parse(expiresAt);
}

function remember(planned: Recorded["planned"], output: Output | undefined): void {
  if (output?.kind === "found" && planned.kind === "get") seen.set(planned.id, output);
  if (output?.kind === "refused" && planned.kind === "write") {
    const id = planned.changes[output.change]?.id;
    if (id !== undefined && output.current !== null) seen.set(id, output.current);
  }
  if (output?.kind !== "written" || planned.kind !== "write") return;
  for (const { id, value } of planned.changes) {
    if (value !== null) seen.set(id, { value, revision: output.revision, deadline: null });
  }
}
