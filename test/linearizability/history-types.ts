import type { Operation } from "./checker.js";

/*
 * What clients ask of a store and are answered, in the form in which histories are recorded and judged. Fields are numbers; a
 * put's `value` is another one each time, so that what is read names its write.
 */

/** A document's fields. */
export interface ModelFields {
  readonly [name: string]: number;
}

/** A condition of one change; all its members must hold. */
export interface ModelCondition {
  readonly exists?: boolean;
  readonly revision?: number;
  readonly fields?: ModelFields;
}

/** One change of a write. Times to live are milliseconds. */
export type ModelChange = { readonly id: string; readonly condition?: ModelCondition } & (
  | { readonly kind: "put"; readonly fields: ModelFields; readonly ttl?: number }
  /** A member that is null is removed. @param ttl null: for ever; absent: the deadline stays */
  | {
      readonly kind: "patch";
      readonly merge?: { readonly [name: string]: number | null };
      readonly ttl?: number | null;
    }
  | { readonly kind: "delete" }
  | { readonly kind: "check" }
);

/** What a client asked for. */
export type Request =
  /** Several documents of one moment. */
  | { readonly kind: "read"; readonly ids: readonly string[] }
  | {
      readonly kind: "list";
      readonly prefix: string;
      readonly after?: string;
      readonly reverse: boolean;
      readonly limit: number;
    }
  | { readonly kind: "write"; readonly changes: readonly ModelChange[] };

/** A request. Between `earliest` and `latest` lies the store's now, whenever the operation took effect. */
export type Input = Request & {
  readonly earliest: number;
  /** For an unknown outcome Infinity. */
  readonly latest: number;
};

/** A document as an answer shows it. */
export interface Seen {
  readonly fields: ModelFields;
  readonly revision: number;
  /** Milliseconds since 1970; null: none. */
  readonly deadline: number | null;
}

/** What one change of a write came to. */
export interface ChangeResult {
  readonly deadline: number | null;
  readonly created: boolean;
}

/** What was answered. With `now`, the store has told at which instant it judged. */
export type Output = { readonly now?: number } /** @param documents null: absent */ & (
  | { readonly kind: "read"; readonly documents: readonly (Seen | null)[] }
  | {
      readonly kind: "page";
      readonly documents: readonly (Seen & { readonly id: string })[];
      readonly next: string | null;
      readonly revision: number;
    }
  | { readonly kind: "written"; readonly revision: number; readonly results: readonly ChangeResult[] }
  /** The changes whose conditions do not hold, and what is there instead. */
  | {
      readonly kind: "refused";
      readonly failures: readonly { readonly change: number; readonly current: Seen | null }[];
    }
  /** All conditions hold, and there is nothing to patch. */
  | { readonly kind: "missing" }
);

export type HistoryOperation = Operation<Input, Output>;
