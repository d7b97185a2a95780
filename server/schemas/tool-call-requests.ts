import { type TProperties, type TUnsafe, Type } from "typebox";
import type { Limits } from "../../src/base/limits.js";
import type { Fields, JsonValue } from "../../src/documents/contract.js";
import { policies, statuses, type ToolCallPolicy, type ToolCallStatus } from "../../src/tool-calls/record.js";
import { serverLimits } from "../limits.js";
import { optionalBody } from "./requests.js";

/*
 * What requests about tool calls hold. Names are in snake case and times in seconds, as everywhere in the API; what they
 * mean is said where tool calls are declared for TypeScript.
 */

/** Which call, and what is written down of it. */
export interface PrepareBody {
  readonly tool: string;
  readonly args: JsonValue;
  readonly key?: string;
  readonly scope?: string;
  readonly policy?: ToolCallPolicy;
  readonly marks?: boolean;
  readonly extra?: Fields;
}

export interface ClaimBody extends PrepareBody {
  readonly pending_ttl?: number;
  readonly completed_ttl?: number;
  readonly failed_ttl?: number;
  readonly wait?: number;
  readonly owner?: string;
  readonly claim_id?: string;
}

/** A holder's request about its claim. */
export interface HeldBody {
  readonly claim_id: string;
}

export interface CompleteBody extends HeldBody {
  readonly result?: JsonValue;
}

export interface FailedBody extends HeldBody {
  readonly error: JsonValue;
}

export interface ReleaseBody extends HeldBody {
  readonly error?: JsonValue;
}

export interface ParkBody extends HeldBody {
  readonly reason: JsonValue;
}

export interface ApproveBody {
  readonly by: string;
  readonly note?: string;
  readonly fingerprint: string;
}

export interface ResolveBody {
  readonly by: string;
  readonly note?: string;
  readonly fingerprint?: string;
  readonly result?: JsonValue;
  readonly error?: JsonValue;
  readonly not_done?: true;
}

export interface CallListQuery {
  readonly tool?: string;
  readonly scope?: string;
  readonly status?: ToolCallStatus;
  readonly after?: string;
  readonly limit?: number;
}

const closed = { additionalProperties: false } as const;

function body<Body>(members: TProperties): TUnsafe<Body> {
  return Type.Unsafe<Body>(Type.Object(members, closed));
}

function json(description: string): TUnsafe<JsonValue> {
  return Type.Unsafe<JsonValue>({ description });
}

function seconds(limits: Limits, description: string): TUnsafe<number> {
  return Type.Unsafe<number>(
    Type.Number({ minimum: limits.ttlSecondsMin, maximum: limits.ttlSecondsMax, description }),
  );
}

function oneOf<Name extends string>(names: readonly Name[], description: string): TUnsafe<Name> {
  return Type.Unsafe<Name>({ type: "string", enum: [...names], description });
}

const claimId = Type.String({
  minLength: 1,
  maxLength: 255,
  description:
    "Fresh for every claim, the same only when the same request is repeated. Absent: the server makes one up.",
});

function prepareMembers(limits: Limits): TProperties {
  return {
    tool: Type.String({ minLength: 1, maxLength: limits.idBytesMax }),
    args: json("What makes this call this call: the key is derived from it, and it is compared with earlier ones."),
    key: Type.Optional(Type.String({ description: "The caller's own key. Absent: derived from the arguments." })),
    scope: Type.Optional(Type.String({ description: "In which equal arguments mean the same intent: a turn, a run." })),
    policy: Type.Optional(
      oneOf(policies, "What happens when a claim lapses or an outcome is unknown; `refire` if absent."),
    ),
    marks: Type.Optional(Type.Boolean({ description: "Whether the claimant says `fired` right before its effect." })),
    extra: Type.Optional(Type.Unsafe<Fields>({ type: "object", description: "Kept with the record, for people." })),
  };
}

export function prepareBody(limits: Limits): TUnsafe<PrepareBody> {
  return body<PrepareBody>(prepareMembers(limits));
}

export function claimBody(limits: Limits): TUnsafe<ClaimBody> {
  return body<ClaimBody>({
    ...prepareMembers(limits),
    pending_ttl: Type.Optional(
      seconds(limits, "The lease of the claim: it lapses so long after its last renewal. 300."),
    ),
    completed_ttl: Type.Optional(seconds(limits, "How long the outcome is remembered and replayed. 3600.")),
    failed_ttl: Type.Optional(seconds(limits, "How long a failure is answered with the same failure. 300.")),
    wait: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: limits.waitSecondsMax,
        description:
          "Seconds to wait for somebody else's claim; 0: not at all. 30, or `completed_ttl` if that is less.",
      }),
    ),
    owner: Type.Optional(
      Type.String({
        maxLength: serverLimits.ownerLengthMax,
        description: "The worker's name, for people; needed with `Idempotency-Key`.",
      }),
    ),
    claim_id: Type.Optional(claimId),
  });
}

const held = { claim_id: Type.String({ minLength: 1, maxLength: 255, description: "As the claim was answered." }) };

const errorText =
  "A text, or an object with `message` and any of `name`, `code`, `status`, `retryable` and `cause`; other JSON is kept as it is.";

export const heldBody: TUnsafe<HeldBody> = body<HeldBody>(held);

export const completeBody: TUnsafe<CompleteBody> = body<CompleteBody>({
  ...held,
  result: Type.Optional(
    json("Any JSON. What is too large is left out of the record, which is completed all the same."),
  ),
});

export const failedBody: TUnsafe<FailedBody> = body<FailedBody>({ ...held, error: json(errorText) });

export const releaseBody: TUnsafe<ReleaseBody> = body<ReleaseBody>({ ...held, error: Type.Optional(json(errorText)) });

export const parkBody: TUnsafe<ParkBody> = body<ParkBody>({ ...held, reason: json("Any JSON, for people.") });

const decision = {
  by: Type.String({ minLength: 1, description: "Who decides: it stays in the record's history." }),
  note: Type.Optional(Type.String({ description: "Why." })),
};

export const approveBody: TUnsafe<ApproveBody> = body<ApproveBody>({
  ...decision,
  fingerprint: Type.String({
    description: "Of the record that was looked at: those arguments are approved, no others.",
  }),
});

export const resolveBody: TUnsafe<ResolveBody> = body<ResolveBody>({
  ...decision,
  fingerprint: Type.Optional(Type.String({ description: "Decide only if the record still has this one." })),
  result: Type.Optional(json("It was done, with this result. One of `result`, `error` and `not_done` must be there.")),
  error: Type.Optional(json(`It has definitely failed. ${errorText}`)),
  not_done: Type.Optional(Type.Literal(true, { description: "It was not done, and can no longer happen." })),
});

/** Where a request has nothing to say: what it says all the same is refused and not passed over. */
export const emptyBody: TUnsafe<Record<string, never> | null> = Type.Unsafe<Record<string, never> | null>(
  Type.Object({}, { ...closed, [optionalBody]: true }),
);

/** The parts of a call's address. */
export function callPath(limits: Limits): TUnsafe<{ readonly key: string }> {
  return Type.Unsafe<{ readonly key: string }>(
    Type.Object({
      key: Type.String({
        minLength: 1,
        maxLength: limits.idBytesMax,
        description: "The whole key, as the claim was answered, percent-encoded.",
      }),
    }),
  );
}

export function callListQuery(limits: Limits): TUnsafe<CallListQuery> {
  const name = { maxLength: limits.idBytesMax };
  return Type.Unsafe<CallListQuery>(
    Type.Object({
      tool: Type.Optional(
        Type.String({ ...name, description: "Only calls of this tool, in `scope` or else in none." }),
      ),
      scope: Type.Optional(Type.String({ ...name, description: "Only calls in this scope." })),
      status: Type.Optional(oneOf(statuses, "Only calls with this status; pages may be short or empty then.")),
      after: Type.Optional(Type.String({ ...name, description: "The `next` of the page before." })),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: limits.listDocumentsMax,
          description: "Records looked at; 100 when absent.",
        }),
      ),
    }),
  );
}

export function outcomeQuery(limits: Limits): TUnsafe<{ readonly wait?: number }> {
  return Type.Unsafe<{ readonly wait?: number }>(
    Type.Object({
      wait: Type.Optional(
        Type.Number({ minimum: 0, maximum: limits.waitSecondsMax, description: "Seconds to wait; 0 when absent." }),
      ),
    }),
  );
}
