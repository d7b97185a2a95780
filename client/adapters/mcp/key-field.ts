import { InvalidRequestError } from "../../../src/base/errors.js";
import { isPlainObject } from "../../../src/documents/plain-object.js";
import { keyFieldText } from "../../../src/tools/model-text.js";
import { type McpCallContext, metaOf, withMeta } from "./call-context.js";
import { requestMeta } from "./call-meta.js";
import { textBlock } from "./tool-result.js";

/*
 * A field for the key among a tool's arguments, for clients that cannot send `_meta`. It is added to the schema on its way
 * to the client, and moved from the arguments to the `_meta` on its way from there, so that neither the tool's own schema,
 * of whatever library, nor its function ever sees it.
 */

/** What is asked about the tools. */
export interface KeyFieldTools {
  readonly isGuarded: (name: string) => boolean;
  /** How long a key is remembered, in seconds. */
  readonly windowOf: (name: string) => number;
}

type RequestHandler = (request: unknown, context: unknown) => unknown;

const listMethod = "tools/list";
const callMethod = "tools/call";

/** The field of one server. */
export class KeyField {
  readonly #name: string;
  readonly #handlers: Map<unknown, unknown>;
  readonly #tools: KeyFieldTools;
  readonly #ours = new Set<unknown>();

  /** @throws InvalidRequestError when the requests of the server cannot be reached */
  constructor(name: string, server: object, tools: KeyFieldTools) {
    this.#name = name;
    this.#tools = tools;
    const protocol: unknown = Reflect.get(server, "server");
    const handlers: unknown =
      typeof protocol === "object" && protocol !== null ? Reflect.get(protocol, "_requestHandlers") : undefined;
    if (!(handlers instanceof Map)) {
      throw new InvalidRequestError("keyField", "cannot be added: the version of the server is not known here");
    }
    this.#handlers = handlers;
  }

  /** Stands in front of the server's handlers, which the SDK makes with the first tool. */
  attach(): void {
    this.#wrap(listMethod, (handler) => async (request, context) => this.#listed(await handler(request, context)));
    this.#wrap(callMethod, (handler) => (request, context) => this.#called(handler, request, context));
  }

  /** @throws InvalidRequestError when a tool's schema has no room for the field */
  checkSchema(tool: string, schema: unknown): void {
    if (schema === undefined) return;
    const members = membersOf(schema);
    if (members === undefined) {
      throw new InvalidRequestError(
        "keyField",
        `cannot be added to the arguments of ${JSON.stringify(tool)}: its schema is not that of one plain object`,
      );
    }
    if (!members.has(this.#name)) return;
    throw new InvalidRequestError(
      "keyField",
      `is ${JSON.stringify(this.#name)}, which ${JSON.stringify(tool)} has among its arguments already`,
    );
  }

  #wrap(method: string, wrapped: (handler: RequestHandler) => RequestHandler): void {
    const handler: unknown = this.#handlers.get(method);
    if (typeof handler !== "function" || this.#ours.has(handler)) return;
    const ours = wrapped((request, context) => Reflect.apply(handler, undefined, [request, context]));
    this.#ours.add(ours);
    this.#handlers.set(method, ours);
  }

  #listed(result: unknown): unknown {
    if (!isPlainObject(result) || !Array.isArray(result["tools"])) return result;
    return { ...result, tools: result["tools"].map((tool: unknown) => this.#withField(tool)) };
  }

  #withField(tool: unknown): unknown {
    if (!isPlainObject(tool) || typeof tool["name"] !== "string" || !this.#tools.isGuarded(tool["name"])) return tool;
    const schema = isPlainObject(tool["inputSchema"]) ? tool["inputSchema"] : { type: "object" };
    const properties = isPlainObject(schema["properties"]) ? schema["properties"] : {};
    const description = keyFieldText(this.#tools.windowOf(tool["name"]));
    const field = { type: "string", minLength: 1, description };
    return { ...tool, inputSchema: { ...schema, properties: { ...properties, [this.#name]: field } } };
  }

  #called(handler: RequestHandler, request: unknown, context: unknown): unknown {
    if (!isPlainObject(request) || !isPlainObject(request["params"])) return handler(request, context);
    const { params } = request;
    const { name, arguments: given } = params;
    if (typeof name !== "string" || !isPlainObject(given) || !Object.hasOwn(given, this.#name)) {
      return handler(request, context);
    }
    if (!this.#tools.isGuarded(name)) return handler(request, context);
    const { [this.#name]: key, ...args } = given;
    const without = { ...request, params: { ...params, arguments: args } };
    // Some models fill in every field they see.
    if (key === undefined || key === null || key === "") return handler(without, context);
    if (typeof key !== "string") return invalid(`${this.#name} must be a string.`);
    return handler(without, withKey(context as McpCallContext, key));
  }
}

/** A key that the client itself sends is better than one that its model makes. */
function withKey(context: McpCallContext, key: string): McpCallContext {
  const meta = metaOf(context);
  const sent = isPlainObject(meta) ? meta[requestMeta.key] : undefined;
  return sent === undefined ? withMeta(context, { [requestMeta.key]: key }) : context;
}

function invalid(problem: string): unknown {
  return { content: [textBlock(problem)], isError: true };
}

/** Keywords that make a schema more than one plain object: a field beside them might never be valid. */
const compositions = ["anyOf", "oneOf", "allOf", "not", "if", "$ref"] as const;

/** The names in a schema, by its JSON Schema or its shape; undefined: it is something else than one plain object. */
function membersOf(schema: unknown): ReadonlySet<string> | undefined {
  const json = jsonSchemaOf(schema);
  if (json !== undefined) {
    if (json["type"] !== "object" || compositions.some((keyword) => keyword in json)) return undefined;
    const { properties = {} } = json;
    return isPlainObject(properties) ? new Set(Object.keys(properties)) : undefined;
  }
  const shape = shapeOf(schema);
  return shape === undefined ? undefined : new Set(Object.keys(shape));
}

/** As the Standard Schema specification has it; undefined: the library does not give it, or cannot say it in JSON. */
function jsonSchemaOf(schema: unknown): { readonly [keyword: string]: unknown } | undefined {
  const input = read(read(read(schema, "~standard"), "jsonSchema"), "input");
  if (typeof input !== "function") return undefined;
  try {
    const json: unknown = input({ target: "draft-2020-12" });
    return isPlainObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Of an object schema of Zod 3 or 4, or of a bare record of schemas. */
function shapeOf(schema: unknown): object | undefined {
  const own: unknown = read(read(read(schema, "_zod"), "def"), "shape") ?? read(schema, "shape");
  const shape: unknown = typeof own === "function" ? own() : own;
  if (typeof shape === "object" && shape !== null) return shape;
  return isPlainObject(schema) && !("_def" in schema) && !("_zod" in schema) && !("~standard" in schema)
    ? schema
    : undefined;
}

function read(value: unknown, name: string): unknown {
  return (typeof value === "object" && value !== null) || typeof value === "function"
    ? Reflect.get(value, name)
    : undefined;
}
