import { type TSchema, Type } from "typebox";
import { errorTable } from "../../src/base/errors.js";

/*
 * What answers hold, for the readers of the API description. No answer passes through these schemas: a typed serializer
 * would round, rename or drop what it does not expect in somebody's document.
 */

function named(name: string): TSchema {
  return Type.Ref(`${name}#`);
}

const revision = Type.Integer({ minimum: 0 });
const instant = Type.String({ format: "date-time" });
const instantOrNull: TSchema = Type.Unsafe<string | null>({ type: ["string", "null"], format: "date-time" });
const anyFields: TSchema = Type.Unsafe<object>({
  type: "object",
  description: "The fields, exactly as they were put.",
});
const documentOrNull: TSchema = Type.Union([named("Document"), Type.Null()]);

/** The schemas that the description names, by `$id`. */
export const namedSchemas: readonly TSchema[] = [
  Type.Object(
    {
      shape: Type.String(),
      id: Type.String(),
      fields: anyFields,
      revision,
      created_revision: revision,
      created_at: instant,
      updated_at: instant,
      expires_at: instantOrNull,
      as_of: instant,
    },
    { $id: "Document", description: "A document as it was at `as_of`." },
  ),
  Type.Object(
    {
      revision,
      expires_at: instantOrNull,
      created: Type.Boolean({ description: "Whether the write began a new life of the document." }),
      replayed: Type.Optional(
        Type.Literal(true, { description: "The answer to an earlier request with the same key." }),
      ),
      document: Type.Optional(documentOrNull),
    },
    { $id: "WriteResult", description: "What a write did." },
  ),
  Type.Object(
    { revision, results: Type.Array(named("WriteResult")), replayed: Type.Optional(Type.Literal(true)) },
    { $id: "BatchResult", description: "What a batch did: one result an operation, in order." },
  ),
  Type.Object(
    {
      documents: Type.Array(named("Document")),
      next: Type.Unsafe<string | null>({ type: ["string", "null"], description: "The `after` of the next page." }),
      revision,
    },
    { $id: "ListPage", description: "One page, from one snapshot." },
  ),
  Type.Object(
    { documents: Type.Array(documentOrNull) },
    { $id: "ManyDocuments", description: "One entry a key, in order; null where there is no document." },
  ),
  Type.Object(
    {
      revision,
      changes: Type.Array(
        Type.Object({
          type: Type.Unsafe<string>({ type: "string", enum: ["put", "delete", "expire"] }),
          shape: Type.String(),
          id: Type.String(),
          document: documentOrNull,
        }),
      ),
    },
    { $id: "Commit", description: "One commit, whole. Without changes it is a bookmark." },
  ),
  Type.Object(
    {
      index: Type.Integer({ minimum: 0 }),
      shape: Type.String(),
      id: Type.String(),
      expected: Type.Unsafe<object>({ type: "object" }),
      current: documentOrNull,
      current_omitted: Type.Optional(
        Type.Literal(true, { description: "`current` is null only because it may not be shown or is too large." }),
      ),
    },
    { $id: "ConditionFailure", description: "A condition that did not hold, and what is there instead." },
  ),
  Type.Object(
    {
      type: Type.String({ description: "`urn:oncekv:error:` and the code." }),
      title: Type.String(),
      status: Type.Integer(),
      detail: Type.String(),
      code: Type.Unsafe<string>({ type: "string", enum: Object.keys(errorTable) }),
      retryable: Type.Boolean({ description: "Whether the same request may succeed later." }),
      path: Type.Optional(Type.String({ description: "Where in the request the fault is, as `set.items[3]`." })),
      retry_after: Type.Optional(Type.Number({ description: "Seconds." })),
      failures: Type.Optional(Type.Array(named("ConditionFailure"))),
      call: Type.Optional(
        Type.Unsafe<object>({
          type: "object",
          description: "With the codes of tool calls: what is known of the call.",
        }),
      ),
    },
    { $id: "Problem", description: "An error, by RFC 9457." },
  ),
];

/** One kind of answer of a route. */
export interface Answer {
  readonly description: string;
  /** The name of a schema above; absent when the answer has no body. */
  readonly schema?: string;
  /** A media type other than JSON, whose body is described in words. */
  readonly mediaType?: string;
  readonly headers?: { readonly [name: string]: TSchema };
}

export const tagHeader: { readonly [name: string]: TSchema } = {
  ETag: Type.String({ description: 'The revision in quotes, as `"7"`.' }),
};

export const replayHeader: { readonly [name: string]: TSchema } = {
  "Idempotent-Replayed": Type.String({ description: "`true` when this is the answer to an earlier request." }),
};

export const waitHeader: { readonly [name: string]: TSchema } = {
  "Preference-Applied": Type.String({ description: "`wait` when the request asked to wait." }),
};
