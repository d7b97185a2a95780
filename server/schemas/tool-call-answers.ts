import { type TSchema, Type } from "typebox";
import { omissions, policies, statuses } from "../../src/tool-calls/record.js";

/* What answers about tool calls hold, for the readers of the API description. */

const key = Type.String({ description: "The whole key, which names the record." });
const attempt = Type.Integer({ minimum: 0, description: "How often the call was claimed within its window." });
const token = Type.Integer({ minimum: 0, description: "The revision of the claim: it grows from claim to claim." });
const status: TSchema = Type.Unsafe<string>({ type: "string", enum: [...statuses] });
const textOrNull: TSchema = Type.Unsafe<string | null>({ type: ["string", "null"] });
const numberOrNull: TSchema = Type.Unsafe<number | null>({ type: ["number", "null"] });
const any: TSchema = Type.Unsafe<unknown>({ description: "Any JSON." });
const anyObject: TSchema = Type.Unsafe<object>({ type: "object" });
const history: TSchema = Type.Array(anyObject, { description: "What operators decided about the call, oldest first." });

const heldMembers = {
  claim_id: Type.String(),
  key,
  attempt,
  fencing_token: token,
  hold: Type.Number({ description: "Seconds after its last renewal at which the claim lapses." }),
  valid_for: Type.Number({
    description:
      "Seconds for which the claim surely holds, counted from when this request was sent. Begin no effect later.",
  }),
};

const outcomeMembers = {
  result: Type.Optional(any),
  result_omitted: Type.Optional(
    Type.Unsafe<string>({
      type: "string",
      enum: [...omissions],
      description: "Known done; why `result` is absent.",
    }),
  ),
  was_replay: Type.Boolean(),
  original_called_at: Type.String({ format: "date-time" }),
  key,
  attempt,
  fencing_token: token,
  persisted: Type.Boolean(),
};

/** The schemas that the description names, by `$id`. */
export const toolCallSchemas: readonly TSchema[] = [
  Type.Object(
    {
      claimed: Type.Literal(true),
      ...heldMembers,
      headers: Type.Object(
        { "Idempotency-Key": Type.String() },
        { description: "For the service that the tool calls." },
      ),
      history,
      approval: Type.Optional(anyObject),
      recognised: Type.Optional(
        Type.Literal(true, { description: "An earlier request with this claim id had made the claim." }),
      ),
    },
    { $id: "Claimed", description: "The call is the claimant's to carry out." },
  ),
  Type.Object(
    { claimed: Type.Literal(false), ...outcomeMembers },
    { $id: "NotClaimed", description: "Somebody has carried the call out: this is what it came to." },
  ),
  Type.Unsafe<unknown>({
    $id: "ClaimAnswer",
    oneOf: [Type.Ref("Claimed#"), Type.Ref("NotClaimed#")],
    description: "A claim, or the stored result.",
  }),
  Type.Object(heldMembers, { $id: "HeldClaim", description: "The claim holds." }),
  Type.Object(outcomeMembers, { $id: "Outcome", description: "What a call came to." }),
  Type.Object({ key, status, attempt }, { $id: "EndedClaim", description: "What the record is now." }),
  Type.Object({ key }, { $id: "PreparedCall", description: "The call is written down." }),
  Type.Object({ forgotten: Type.Boolean() }, { $id: "Forgotten", description: "Whether there was a record." }),
  Type.Object(
    {
      format: Type.Integer(),
      tool: Type.String(),
      key,
      fingerprint: Type.String({ description: "sha256 of the canonical arguments, in hex." }),
      intent: any,
      policy: Type.Unsafe<string>({ type: "string", enum: [...policies] }),
      marks: Type.Boolean(),
      status,
      claim_id: textOrNull,
      phase: textOrNull,
      owner: textOrNull,
      attempt,
      hold: numberOrNull,
      window: Type.Optional(Type.Number({ description: "Seconds for which its end is to be remembered." })),
      fencing_token: numberOrNull,
      started_at: textOrNull,
      renewed_at: textOrNull,
      fired_at: textOrNull,
      completed_at: textOrNull,
      history,
      result: Type.Optional(any),
      result_ref: Type.Optional(Type.String({ description: "The document that holds the result." })),
      result_omitted: Type.Optional(Type.String()),
      error: Type.Optional(anyObject),
      last_error: Type.Optional(anyObject),
      reason: Type.Optional(any),
      extra: Type.Optional(anyObject),
      terms: Type.Optional(anyObject),
    },
    { $id: "CallRecord", description: "The record of a call." },
  ),
  Type.Unsafe<unknown>({
    $id: "CallDocument",
    description: "A record as a document, with the end of its lease.",
    type: "object",
    required: [
      "shape",
      "id",
      "fields",
      "revision",
      "created_at",
      "updated_at",
      "expires_at",
      "as_of",
      "lease_expires_at",
    ],
    properties: {
      shape: Type.String(),
      id: Type.String(),
      fields: Type.Ref("CallRecord#"),
      revision: Type.Integer(),
      created_revision: Type.Integer(),
      created_at: Type.String({ format: "date-time" }),
      updated_at: Type.String({ format: "date-time" }),
      expires_at: textOrNull,
      as_of: Type.String({ format: "date-time" }),
      lease_expires_at: textOrNull,
    },
  }),
  Type.Object(
    {
      calls: Type.Array(Type.Ref("CallDocument#")),
      malformed: Type.Array(Type.String(), { description: "Keys of documents there that are no records." }),
      next: textOrNull,
      revision: Type.Integer(),
    },
    { $id: "CallPage", description: "One page of records, in the order of their keys." },
  ),
];
