import { InvalidRequestError } from "../base/errors.js";
import { kindOf } from "../documents/value-kind.js";

/*
 * Which headers of an answer are kept with it and replayed. It is a list of what may be kept: what a header nobody thought
 * of says may be for the first asker alone, or for the first moment.
 */

/** Name in lower case, and value; a name may come more than once. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** What describes the body, and what the request has made. */
const keptByDefault = [
  "content-type",
  "content-language",
  "content-encoding",
  "content-disposition",
  "content-location",
  "location",
  "etag",
  "last-modified",
  "link",
] as const;

/** Secrets of one asker, and what belongs to one connection or one sending. */
const neverKept: ReadonlySet<string> = new Set([
  "set-cookie",
  "authorization",
  "www-authenticate",
  "authentication-info",
  "proxy-authenticate",
  "proxy-authentication-info",
  "proxy-authorization",
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "date",
]);

/** A token of RFC 9110. */
const headerToken = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** The default list and what is added to it. @throws InvalidRequestError */
export function keptHeaderNames(added: unknown, path: string): ReadonlySet<string> {
  if (!Array.isArray(added)) throw new InvalidRequestError(path, `must be an array, not ${kindOf(added)}`);
  const names = new Set<string>(keptByDefault);
  for (const [index, given] of added.entries()) {
    const name = typeof given === "string" ? given.toLowerCase() : "";
    if (!headerToken.test(name)) throw new InvalidRequestError(`${path}[${index}]`, "must be the name of a header");
    if (neverKept.has(name)) {
      throw new InvalidRequestError(`${path}[${index}]`, `${name} is for one asker or one connection, and never kept`);
    }
    names.add(name);
  }
  return names;
}

/** The headers of an answer, as Node and Fastify hold them. */
export type HeaderValues = { readonly [name: string]: number | string | readonly string[] | undefined };

/** Those of them that are kept, in the order in which they were set. */
export function keptOf(headers: HeaderValues, names: ReadonlySet<string>): HeaderList {
  const kept: [string, string][] = [];
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    if (value === undefined || !names.has(name)) continue;
    for (const each of typeof value === "object" ? value : [String(value)]) kept.push([name, each]);
  }
  return kept;
}

/** The headers as a response takes them: a name that comes more than once has a list. */
export function valuesByName(headers: HeaderList): ReadonlyMap<string, string | string[]> {
  const byName = new Map<string, string | string[]>();
  for (const [name, value] of headers) {
    const before = byName.get(name);
    byName.set(name, before === undefined ? value : [before, value].flat());
  }
  return byName;
}
