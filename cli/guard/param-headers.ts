import { isObject, memberOf } from "./json-rpc.js";

/*
 * Newer versions of the protocol want some arguments of a call in headers as well, so that what stands between client and
 * server can route by them: `x-mcp-header` in the schema of the arguments names the header. Servers refuse a call whose header
 * is missing.
 */

/** An argument that has a header. */
interface MirroredArgument {
  readonly path: readonly string[];
  readonly header: string;
}

/** How deep schemas are followed. */
const depthMax = 32;

/** The headers for one call, by its tool's schema. What is no text, number or truth value has none. */
export function paramHeaders(inputSchema: unknown, args: unknown): { readonly [name: string]: string } {
  const headers: { [name: string]: string } = {};
  for (const { path, header } of mirrored(inputSchema, [])) {
    const text = textOf(path.reduce<unknown>((value, name) => memberOf(value, name), args));
    if (text !== undefined) headers[`Mcp-Param-${header}`] = fieldValue(text);
  }
  return headers;
}

/** Only members of members: what a schema says of alternatives and of elements has no one value. */
function mirrored(schema: unknown, path: readonly string[]): readonly MirroredArgument[] {
  const properties = memberOf(schema, "properties");
  if (!isObject(properties) || path.length >= depthMax) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    const header = memberOf(property, "x-mcp-header");
    const own = [...path, name];
    const found =
      typeof header === "string" && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header) ? [{ path: own, header }] : [];
    return [...found, ...mirrored(property, own)];
  });
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

/** What a header cannot carry as it is goes as the base64 of its UTF-8, in the marks that the protocol sets around it. */
function fieldValue(text: string): string {
  const plain = /^[\x20-\x7e\t]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}
