import type { ModelCondition, Seen } from "./history-types.js";

/** Every form of condition that the contract has; several of its members at once are forms of their own. */
export const conditionForms = [
  "none",
  "absence",
  "presence",
  "revision",
  "one_field",
  "all_fields",
  "presence_and_revision",
  "revision_and_fields",
  "everything",
] as const;

export type ConditionForm = (typeof conditionForms)[number];

/** A condition that is yet to be made of what a client has seen. */
export interface PlannedCondition {
  readonly form: ConditionForm;
  /** Whether it is to fit what was seen; else it misses that, by a revision, a value or a field that is not there. */
  readonly fits: boolean;
}

/** What no document has. */
const nothing: Seen = { fields: { value: -1 }, revision: 1, deadline: null };

/** Makes a condition; undefined: none. @param seen what the client has seen last of the document */
export function conditionFrom({ form, fits }: PlannedCondition, seen: Seen | undefined): ModelCondition | undefined {
  const { fields, revision: seenRevision } = seen ?? nothing;
  const revision = fits ? seenRevision : seenRevision + 1_000_000;
  const value = { value: fits ? (fields["value"] ?? -1) : -1 };
  switch (form) {
    case "none":
      return undefined;
    case "absence":
      return { exists: false };
    case "presence":
      return { exists: true };
    case "revision":
      return { revision };
    case "one_field":
      return { fields: value };
    case "all_fields":
      return { fields: fits ? fields : { ...fields, missing: 1 } };
    case "presence_and_revision":
      return { exists: true, revision };
    case "revision_and_fields":
      return { revision: seenRevision, fields: value };
    case "everything":
      return { exists: true, revision, fields };
  }
}

/** Which form a condition is of. */
export function formOf(condition: ModelCondition | undefined): ConditionForm {
  if (condition === undefined) return "none";
  const { exists, revision, fields } = condition;
  if (fields === undefined) {
    if (revision !== undefined) return exists === undefined ? "revision" : "presence_and_revision";
    return exists === false ? "absence" : "presence";
  }
  if (revision !== undefined) return exists === undefined ? "revision_and_fields" : "everything";
  return Object.keys(fields).join() === "value" ? "one_field" : "all_fields";
}
