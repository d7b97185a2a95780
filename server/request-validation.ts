import { Ajv, type ValidateFunction } from "ajv";
import type { FastifyInstance } from "fastify";
import { InvalidRequestError } from "../src/base/errors.js";
import { type QueryKind, readQuery } from "./query-text.js";
import { schemaFault } from "./schema-fault.js";
import { optionalBody } from "./schemas/requests.js";

/**
 * Keywords that say how much and how long. They stand in the schemas for readers of the API description; here they are
 * passed over, because the store judges the same bounds: one rule gives one answer on every path, embedded or not.
 */
const boundKeywords = [
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minItems",
  "maxItems",
  "minProperties",
] as const;

/**
 * Lets the schemas judge which members a request has and of what type they are. Nothing is converted, filled in or
 * dropped: a mistyped condition must be an error and never an unconditional write.
 */
export function useSchemas(app: FastifyInstance): void {
  const ajv = makeValidator();
  app.setValidatorCompiler(({ schema, httpPart }) => {
    switch (httpPart) {
      case "body":
        return bodyValidator(ajv, schema);
      case "querystring":
        return queryReader(schema);
      default:
        // Parts of the path are text whatever they hold, and the headers in the schemas are there for readers.
        return () => true;
    }
  });
  // Answers are texts already. Should an object come along, this is the serializer that cannot drop a member of it.
  app.setSerializerCompiler(() => JSON.stringify);
}

/** Lets the query through as text, to be read by the schema of its route. */
export function queryAsText(text: string): { text: string } {
  return { text };
}

type Validate = (value: unknown) => true | { error: Error };

function makeValidator(): Ajv {
  const ajv = new Ajv({
    strict: true,
    allowUnionTypes: true,
    discriminator: true,
    verbose: true,
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
  });
  for (const keyword of boundKeywords) {
    ajv.removeKeyword(keyword);
    ajv.addKeyword(keyword);
  }
  ajv.addKeyword(optionalBody);
  return ajv;
}

function bodyValidator(ajv: Ajv, schema: object): Validate {
  const isOptional = optionalBody in schema;
  // Made for the first request: all of them take half of the time that a server needs to start.
  let validate: ValidateFunction | undefined;
  return (body) => {
    if (body === null || body === undefined) {
      return isOptional || { error: new InvalidRequestError("", "the request needs a JSON body") };
    }
    validate ??= ajv.compile(schema);
    if (validate(body)) return true;
    const [error] = validate.errors ?? [];
    return {
      error: error === undefined ? new InvalidRequestError("", "the body is not valid") : schemaFault(body, error),
    };
  };
}

/** Fastify takes `value` for the query from there on. */
function queryReader(schema: object): (query: unknown) => { value: unknown } | { error: Error } {
  const kinds = queryKinds(schema);
  return (query) => {
    const text = typeof query === "object" && query !== null && "text" in query ? String(query.text) : "";
    try {
      return { value: readQuery(text, kinds) };
    } catch (error) {
      return { error: error instanceof Error ? error : new InvalidRequestError("", String(error)) };
    }
  };
}

function queryKinds(schema: object): ReadonlyMap<string, QueryKind> {
  const properties: unknown = "properties" in schema ? schema.properties : {};
  const kinds = new Map<string, QueryKind>();
  for (const [name, member] of Object.entries(properties as Record<string, { type: QueryKind }>)) {
    kinds.set(name, member.type);
  }
  return kinds;
}
