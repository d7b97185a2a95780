import { type TSchema, Type } from "typebox";
import { type ErrorCode, errorTable } from "../../src/base/errors.js";
import type { Answer } from "./answers.js";

/** What a route is for, in the API description. */
export interface RouteDescription {
  /** Names the operation in generated clients. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: "documents" | "changes" | "tool calls" | "operations";
  /** Answers by status, without the errors. */
  readonly answers: { readonly [status: number]: Answer };
  /** Errors of this route; those that every route has are added. */
  readonly errors: readonly ErrorCode[];
  /** Headers that the route reads. */
  readonly headers?: { readonly [name: string]: TSchema };
  /** False for what a server with tokens answers without one. */
  readonly needsToken?: boolean;
}

/** The members of a Fastify schema that describe and do not judge. */
export interface DescriptiveSchema {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  headers?: TSchema;
  response: Record<string, object>;
  security: Record<string, string[]>[];
}

/** Headers by which writes are made conditional and safe to repeat. */
export const writeHeaders: { readonly [name: string]: TSchema } = {
  "If-Match": Type.Optional(
    Type.String({ description: 'One revision in quotes, as `"7"`, or `*` for any. Not together with `if_match`.' }),
  ),
  "If-None-Match": Type.Optional(Type.String({ description: "`*`: only if there is no such document." })),
  "Idempotency-Key": Type.Optional(
    Type.String({
      maxLength: 255,
      description: "Makes repeating the request safe: the same key gives the first answer.",
    }),
  ),
};

const everyRoute: readonly ErrorCode[] = ["invalid_request", "internal"];
const everyTokenRoute: readonly ErrorCode[] = ["unauthorized", "forbidden", "rate_limited", "store_closed"];

/** The descriptive part of a route's schema, complete with every error it may answer. */
export function describeRoute(route: RouteDescription): DescriptiveSchema {
  const needsToken = route.needsToken ?? true;
  const codes = [...new Set([...everyRoute, ...(needsToken ? everyTokenRoute : []), ...route.errors])];
  const response: Record<string, object> = {};
  for (const [status, answer] of Object.entries(route.answers)) response[status] = describeAnswer(answer);
  for (const [status, ofStatus] of byStatus(codes)) response[status] ??= describeProblem(status, ofStatus);
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    ...(route.headers === undefined ? {} : { headers: Type.Object({ ...route.headers }) }),
    response,
    // An empty requirement beside the token: a server without tokens asks for none.
    security: needsToken ? [{ token: [] }, {}] : [{}],
  };
}

function describeAnswer({ description, schema, mediaType, headers }: Answer): object {
  const common = { description, ...(headers === undefined ? {} : { headers }) };
  if (mediaType !== undefined) {
    const schema = { type: mediaType === "application/json" ? "object" : "string" };
    return { ...common, content: { [mediaType]: { schema } } };
  }
  if (schema !== undefined) return { ...common, content: { "application/json": { schema: Type.Ref(`${schema}#`) } } };
  // The generator takes this for an answer without a body.
  return { ...common, type: "null" };
}

function describeProblem(status: number, codes: readonly ErrorCode[]): object {
  const headers = {
    ...(status === 401 ? { "WWW-Authenticate": Type.String() } : {}),
    ...(codes.some((code) => errorTable[code].retryable) ? { "Retry-After": Type.Integer({ minimum: 1 }) } : {}),
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTable[code].title}.`).join(" "),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    content: { "application/problem+json": { schema: Type.Ref("Problem#") } },
  };
}

function byStatus(codes: readonly ErrorCode[]): Map<number, ErrorCode[]> {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = errorTable[code];
    const group = groups.get(status);
    if (group === undefined) groups.set(status, [code]);
    else group.push(code);
  }
  return groups;
}
