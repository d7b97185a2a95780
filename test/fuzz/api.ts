/* The server's own description of its interface, as the fuzzers read it: a route that is new there is tried by all of them. */

export interface Schema {
  readonly [keyword: string]: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Schema;
}

export interface DescribedAnswer {
  readonly description: string;
  readonly content?: { readonly [mediaType: string]: { readonly schema: Schema } };
}

/** One route. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  /** As in the description: `/v1/documents/{shape}/{id}`. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly schema: Schema; readonly required: boolean } | undefined;
  readonly answers: { readonly [status: string]: DescribedAnswer };
}

interface RawOperation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: { readonly [type: string]: { readonly schema: Schema } };
  };
  readonly responses: { readonly [status: string]: DescribedAnswer };
}

export interface ApiDescription {
  readonly paths: { readonly [path: string]: { readonly [method: string]: RawOperation } };
  readonly components: { readonly schemas: { readonly [name: string]: Schema } };
}

export function operationsOf(description: ApiDescription): Operation[] {
  return Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]): Operation => {
      const schema = raw.requestBody?.content["application/json"]?.schema;
      return {
        id: raw.operationId,
        method: method.toUpperCase(),
        path,
        parameters: raw.parameters ?? [],
        body: schema === undefined ? undefined : { schema, required: raw.requestBody?.required === true },
        answers: raw.responses,
      };
    }),
  );
}

/** A member of a request's body, found by walking its schema. */
export interface BodyMember {
  /** The places of the members that lead to it: `["operations", 0, "set"]`. */
  readonly place: readonly (string | number)[];
  readonly schema: Schema;
}

/**
 * All members that a body can have by its schema, in the body that is given: where there are alternatives, those of the one
 * that the body is.
 */
export function membersOf(schema: Schema, body: unknown, place: readonly (string | number)[] = []): BodyMember[] {
  const members: BodyMember[] = [];
  const properties = propertiesOf(schema, body);
  for (const [name, member] of Object.entries(properties)) {
    const inner = memberOf(body, name);
    members.push({ place: [...place, name], schema: member }, ...membersOf(member, inner, [...place, name]));
  }
  if (Array.isArray(body) && isSchema(schema["items"])) {
    const items = schema["items"];
    body.forEach((item: unknown, index) => {
      members.push({ place: [...place, index], schema: items }, ...membersOf(items, item, [...place, index]));
    });
  }
  return members;
}

/** Places of the objects in a body that may have no other members than those described. */
export function closedObjects(schema: Schema, body: unknown): (readonly (string | number)[])[] {
  const all: BodyMember[] = [{ place: [], schema }, ...membersOf(schema, body)];
  return all
    .filter(({ schema: member, place }) => {
      const there = valueAt(body, place);
      if (typeof there !== "object" || there === null || Array.isArray(there)) return false;
      return alternativeOf(member, there)["additionalProperties"] === false;
    })
    .map(({ place }) => place);
}

function propertiesOf(schema: Schema, body: unknown): { readonly [name: string]: Schema } {
  const properties = alternativeOf(schema, body)["properties"];
  return isSchema(properties) ? (properties as { readonly [name: string]: Schema }) : {};
}

/** Of the alternatives that a member tells apart the one that the value is. */
function alternativeOf(schema: Schema, value: unknown): Schema {
  const { oneOf, discriminator } = schema as { oneOf?: readonly Schema[]; discriminator?: { propertyName: string } };
  if (oneOf === undefined || discriminator === undefined) return schema;
  const tag = memberOf(value, discriminator.propertyName);
  return (
    oneOf.find((alternative) => {
      const properties = alternative["properties"] as { readonly [name: string]: Schema };
      return properties[discriminator.propertyName]?.["const"] === tag;
    }) ?? schema
  );
}

export function memberOf(value: unknown, name: string | number): unknown {
  return typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}

export function valueAt(body: unknown, place: readonly (string | number)[]): unknown {
  return place.reduce(memberOf, body);
}

/** A copy with another value at a place. */
export function withValueAt(body: unknown, place: readonly (string | number)[], value: unknown): unknown {
  const [name, ...rest] = place;
  if (name === undefined) return value;
  const copy: unknown = Array.isArray(body) ? [...body] : { ...(body as object) };
  Object.defineProperty(copy, name, {
    value: withValueAt(memberOf(body, name), rest, value),
    enumerable: true,
    configurable: true,
    writable: true,
  });
  return copy;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null;
}
