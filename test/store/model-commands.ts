import fc from "fast-check";
import type { Fields } from "../../src/documents/contract.js";

/** The documents that the commands are about. */
export const ids = ["a", "b", "ba", "c", "é"];

/** A condition whose revision is chosen when the command runs: the document's own, or one that it had before. */
export type ConditionPlan =
  | { readonly fields: Fields }
  | { readonly exists: boolean; readonly revision?: "own" | "older" }
  | { readonly revision: "own" | "older" };

export interface WritePlan {
  readonly op: "put" | "patch" | "delete" | "check";
  readonly id: string;
  readonly fields: Fields;
  readonly ttl: number | null | undefined;
  readonly condition: ConditionPlan | undefined;
}

export type Command =
  | { readonly kind: "write"; readonly write: WritePlan }
  | { readonly kind: "batch"; readonly writes: readonly WritePlan[] }
  | { readonly kind: "burst"; readonly writes: readonly WritePlan[] }
  | { readonly kind: "read" | "sweep" | "reopen" | "crash" }
  | { readonly kind: "advance"; readonly ms: number };

/** Objects as they are written in a program. */
const plain = { noNullPrototype: true } as const;

const anyFields = fc.dictionary(
  fc.constantFrom("n", "m", "deep"),
  fc.oneof(
    fc.nat(2),
    fc.constant(null),
    fc.record({ x: fc.oneof(fc.nat(1), fc.constant(null)) }, plain),
    fc.constant([1]),
  ),
  { maxKeys: 3, noNullPrototype: true },
) as fc.Arbitrary<Fields>;

const anyCondition: fc.Arbitrary<ConditionPlan> = fc.oneof(
  fc.record({ exists: fc.boolean() }, plain),
  fc.record({ revision: fc.constantFrom("own", "older") }, plain),
  fc.record({ exists: fc.boolean(), revision: fc.constantFrom("own", "older") }, plain),
  anyFields.filter((fields) => Object.keys(fields).length > 0).map((fields) => ({ fields })),
);

const anyWrite: fc.Arbitrary<WritePlan> = fc.record(
  {
    op: fc.constantFrom("put", "put", "patch", "delete", "check"),
    id: fc.constantFrom(...ids),
    fields: anyFields,
    ttl: fc.constantFrom(undefined, undefined, null, 0.001, 0.05, 0.1, 0.2, 1, 4000),
    condition: fc.option(anyCondition, { nil: undefined }),
  },
  plain,
);

/** Any command. */
export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: anyWrite.map((write) => ({ kind: "write" as const, write })) },
  {
    weight: 4,
    arbitrary: fc
      .uniqueArray(anyWrite, { selector: (write) => write.id, minLength: 1, maxLength: 4 })
      .map((writes) => ({ kind: "batch" as const, writes })),
  },
  {
    weight: 4,
    arbitrary: fc.array(anyWrite, { minLength: 2, maxLength: 6 }).map((writes) => ({ kind: "burst" as const, writes })),
  },
  { weight: 3, arbitrary: fc.constant({ kind: "read" as const }) },
  {
    weight: 5,
    arbitrary: fc.constantFrom(1, 49, 50, 99, 100, 1000, 5_000_000).map((ms) => ({ kind: "advance" as const, ms })),
  },
  { weight: 2, arbitrary: fc.constant({ kind: "sweep" as const }) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: "reopen" as const }, { kind: "crash" as const }) },
);
