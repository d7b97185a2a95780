import { InvalidRequestError } from "../src/base/errors.js";

/** How the text of a query member is read. */
export type QueryKind = "string" | "integer" | "number" | "boolean";

/**
 * Reads a query. Unlike a parser of forms it takes known names only, each once, and it reads a number or a boolean only
 * where that is what the text says: `limit=` is not 0, and `reverse` without a value is not true.
 *
 * @throws InvalidRequestError naming the member
 */
export function readQuery(
  text: string,
  kinds: ReadonlyMap<string, QueryKind>,
): Record<string, string | number | boolean> {
  const members: Record<string, string | number | boolean> = {};
  if (text === "") return members;
  for (const piece of text.split("&")) {
    if (piece === "") continue;
    const equals = piece.indexOf("=");
    const name = decode(equals === -1 ? piece : piece.slice(0, equals), "");
    const kind = kinds.get(name);
    if (kind === undefined) throw new InvalidRequestError(name, unknownMember(kinds));
    if (Object.hasOwn(members, name)) throw new InvalidRequestError(name, "is given twice");
    members[name] = readValue(equals === -1 ? "" : decode(piece.slice(equals + 1), name), kind, name);
  }
  return members;
}

function unknownMember(kinds: ReadonlyMap<string, QueryKind>): string {
  if (kinds.size === 0) return "is not a query member: this address takes none";
  return `is not a query member here; known are ${[...kinds.keys()].join(", ")}`;
}

/** As browsers and curl write it: percent-encoded UTF-8, and a plus for a space. */
function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch (error) {
    throw new InvalidRequestError(name, "the query is not percent-encoded UTF-8", { cause: error });
  }
}

function readValue(text: string, kind: QueryKind, name: string): string | number | boolean {
  switch (kind) {
    case "string":
      return text;
    case "boolean":
      if (text === "true" || text === "false") return text === "true";
      throw new InvalidRequestError(name, "must be true or false");
    case "integer":
      if (/^-?\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
      throw new InvalidRequestError(name, "must be an integer");
    case "number":
      if (/^-?\d+(\.\d+)?$/.test(text) && Number.isFinite(Number(text))) return Number(text);
      throw new InvalidRequestError(name, "must be a number");
  }
}
