import { type TUnsafe, Type } from "typebox";
import type { Limits } from "../../src/base/limits.js";
import type {
  BatchOperation,
  Condition,
  DeleteOperation,
  DocumentKey,
  Fields,
  ListOptions,
  PatchOperation,
  PutOperation,
  WatchOptions,
} from "../../src/documents/contract.js";

/*
 * What requests hold. The types are those of the contract; the schemas say the same in the language of the API
 * description, and a test holds the two together.
 */

/** A write's members that are in its body; the others are in its address. */
export type InBody<Operation> = Omit<Operation, "shape" | "id">;

export interface BatchBody {
  readonly operations: readonly BatchOperation[];
}

export interface GetManyBody {
  readonly keys: readonly DocumentKey[];
}

/** Marks the schema of a body that may be left out. */
export const optionalBody = "x-optional";

const closed = { additionalProperties: false } as const;
const shapePattern = "^[a-z0-9][a-z0-9._-]{0,63}$";

/** The parts of a document's address. */
export interface DocumentPath {
  readonly shape: string;
  readonly id: string;
}

function shapeName(): TUnsafe<string> {
  return Type.Unsafe<string>(
    Type.String({ pattern: shapePattern, description: "The collection, as `note` or `tool-call`." }),
  );
}

function documentId(limits: Limits): TUnsafe<string> {
  return Type.Unsafe<string>(
    Type.String({
      minLength: 1,
      maxLength: limits.idBytesMax,
      description: `1 to ${limits.idBytesMax} bytes of UTF-8, any characters. In the address it is percent-encoded.`,
    }),
  );
}

export function documentPath(limits: Limits): TUnsafe<DocumentPath> {
  return Type.Unsafe<DocumentPath>(Type.Object({ shape: shapeName(), id: documentId(limits) }));
}

export function shapePath(): TUnsafe<{ readonly shape: string }> {
  return Type.Unsafe<{ readonly shape: string }>(Type.Object({ shape: shapeName() }));
}

function conditionSchema(): TUnsafe<Condition> {
  return Type.Unsafe<Condition>(
    Type.Object(
      {
        exists: Type.Optional(Type.Boolean({ description: "Whether the document must be there." })),
        revision: Type.Optional(Type.Integer({ minimum: 1, description: "The revision that it must have." })),
        fields: Type.Optional(
          Type.Unsafe<Fields>({
            type: "object",
            minProperties: 1,
            description: "Top-level fields that it must have, each equal to the value given, deeply.",
          }),
        ),
      },
      { ...closed, minProperties: 1, description: "The write happens only if all of this holds." },
    ),
  );
}

/** Seconds to live; `put` and `patch` differ in what its absence means. */
function ttlSchema(limits: Limits, whenAbsent: string): TUnsafe<number | null> {
  return Type.Unsafe<number | null>({
    type: ["number", "null"],
    minimum: limits.ttlSecondsMin,
    maximum: limits.ttlSecondsMax,
    description: `Seconds to live, fractions allowed; null: for ever. ${whenAbsent}`,
  });
}

function fieldsSchema(description: string): TUnsafe<Fields> {
  return Type.Unsafe<Fields>({ type: "object", description });
}

const returnSchema = Type.Literal("document", {
  description: "Puts the document into the answer; for a delete the one that went.",
});

function putMembers(limits: Limits) {
  return {
    set: fieldsSchema(`The new fields, all of them; at most ${limits.fieldsBytesMax} bytes as stored.`),
    ttl: Type.Optional(ttlSchema(limits, "Absent: the default of the shape, else for ever.")),
    if_match: Type.Optional(conditionSchema()),
    return: Type.Optional(returnSchema),
  };
}

function patchMembers(limits: Limits) {
  return {
    merge: Type.Optional(fieldsSchema("A merge patch by RFC 7396. Absent: only the ttl changes.")),
    ttl: Type.Optional(ttlSchema(limits, "Absent: the deadline stays.")),
    if_match: Type.Optional(conditionSchema()),
    return: Type.Optional(returnSchema),
  };
}

function deleteMembers() {
  return { if_match: Type.Optional(conditionSchema()), return: Type.Optional(returnSchema) };
}

export function putBody(limits: Limits): TUnsafe<InBody<PutOperation>> {
  return Type.Unsafe<InBody<PutOperation>>(Type.Object(putMembers(limits), closed));
}

export function patchBody(limits: Limits): TUnsafe<InBody<PatchOperation>> {
  return Type.Unsafe<InBody<PatchOperation>>(Type.Object(patchMembers(limits), closed));
}

/** A delete needs no body: proxies may drop it. */
export function deleteBody(): TUnsafe<InBody<DeleteOperation> | null> {
  return Type.Unsafe<InBody<DeleteOperation> | null>(Type.Object(deleteMembers(), { ...closed, [optionalBody]: true }));
}

export function batchBody(limits: Limits): TUnsafe<BatchBody> {
  const key = { shape: shapeName(), id: documentId(limits) };
  const operation = {
    type: "object",
    required: ["op"],
    properties: { op: { type: "string" } },
    discriminator: { propertyName: "op" },
    oneOf: [
      Type.Object({ op: Type.Literal("put"), ...key, ...putMembers(limits) }, closed),
      Type.Object({ op: Type.Literal("patch"), ...key, ...patchMembers(limits) }, closed),
      Type.Object({ op: Type.Literal("delete"), ...key, ...deleteMembers() }, closed),
      Type.Object({ op: Type.Literal("check"), ...key, if_match: conditionSchema() }, closed),
    ],
  };
  return Type.Unsafe<BatchBody>(
    Type.Object(
      {
        operations: Type.Array(Type.Unsafe<BatchOperation>(operation), {
          minItems: 1,
          maxItems: limits.batchOperationsMax,
          description: "All happen in one commit, or none; each document at most once.",
        }),
      },
      closed,
    ),
  );
}

export function getManyBody(limits: Limits): TUnsafe<GetManyBody> {
  const key = Type.Object({ shape: shapeName(), id: documentId(limits) }, closed);
  return Type.Unsafe<GetManyBody>(Type.Object({ keys: Type.Array(key, { maxItems: limits.getManyKeysMax }) }, closed));
}

/** A query without members. */
export function noQuery(): TUnsafe<Record<string, never>> {
  return Type.Unsafe<Record<string, never>>(Type.Object({}, closed));
}

export function deleteQuery(): TUnsafe<{ readonly return?: string }> {
  return Type.Unsafe<{ readonly return?: string }>(
    Type.Object({
      return: Type.Optional(Type.String({ description: "`document` puts the one that went into the answer." })),
    }),
  );
}

export function listQuery(limits: Limits): TUnsafe<ListOptions> {
  const id = { maxLength: limits.idBytesMax };
  return Type.Unsafe<ListOptions>(
    Type.Object({
      prefix: Type.Optional(Type.String({ ...id, description: "Only ids that begin with this." })),
      after: Type.Optional(Type.String({ ...id, description: "Only ids beyond this: the `next` of the page before." })),
      until: Type.Optional(Type.String({ ...id, description: "Ends before this id, in the direction of reading." })),
      reverse: Type.Optional(Type.Boolean({ description: "From the last id to the first." })),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: limits.listDocumentsMax,
          description:
            "Documents on the page; 100 when absent. A page may be shorter: only `next: null` ends the list.",
        }),
      ),
    }),
  );
}

export function changesQuery(limits: Limits): TUnsafe<Omit<WatchOptions, "signal">> {
  return Type.Unsafe<Omit<WatchOptions, "signal">>(
    Type.Object({
      shape: Type.Optional(Type.String({ pattern: shapePattern, description: "Only documents of this shape." })),
      id: Type.Optional(
        Type.String({ maxLength: limits.idBytesMax, description: "Only this document; needs `shape`." }),
      ),
      prefix: Type.Optional(
        Type.String({ maxLength: limits.idBytesMax, description: "Only ids that begin with this; needs `shape`." }),
      ),
      since: Type.Optional(
        Type.Integer({ minimum: 0, description: "Changes after this revision; absent: from now on." }),
      ),
    }),
  );
}
