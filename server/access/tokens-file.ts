import { InvalidRequestError } from "../../src/base/errors.js";
import { checkShape } from "../../src/documents/names.js";
import { pathTo, readMembers } from "../../src/documents/request-members.js";
import { readBoundedFile } from "../bounded-file.js";
import { parseJsonObject } from "../json-text.js";
import { checkAtOnce, checkPerSecond } from "./request-bounds.js";
import type { TokenEntry } from "./token-entry.js";

const fileMembers: ReadonlySet<string> = new Set(["tokens"]);
const entryMembers: ReadonlySet<string> = new Set([
  "name",
  "sha256",
  "read",
  "write",
  "admin",
  "expires_at",
  "requests_per_second",
  "requests_at_once",
]);

/** How a list of tokens is judged. */
export interface TokensRules {
  /** Whether no token at all will do. A server that begins with none is a mistake; false when absent. */
  readonly mayBeEmpty?: boolean;
}

/**
 * Reads a tokens file: `{ "tokens": [{ "name", "sha256", "read", "write", ... }] }`.
 *
 * @throws InvalidRequestError naming the file and what is wrong in it. A member that is not known is refused: a mistyped
 * `expires_at` would be a token that never expires.
 */
export async function readTokensFile(file: string, rules: TokensRules = {}): Promise<TokenEntry[]> {
  let bytes: Buffer;
  try {
    bytes = await readBoundedFile(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidRequestError("", `the tokens file cannot be read: ${reason}`, { cause: error });
  }
  try {
    return parseTokens(parseJsonObject(bytes, "its content"), rules);
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    throw new InvalidRequestError("", `the tokens file ${file} is not valid: ${error.message}`, { cause: error });
  }
}

/** Judges the content of a tokens file. @throws InvalidRequestError naming the path */
export function parseTokens(content: unknown, { mayBeEmpty = false }: TokensRules = {}): TokenEntry[] {
  const list = readMembers(content, "", "the content", fileMembers)["tokens"];
  if (!Array.isArray(list) || (list.length === 0 && !mayBeEmpty)) {
    throw new InvalidRequestError("tokens", "must be an array with at least one token");
  }
  const entries = list.map((entry: unknown, index) => checkTokenEntry(entry, `tokens[${index}]`));
  refuseRepeated(entries, "name");
  refuseRepeated(entries, "sha256");
  return entries;
}

/** Judges one entry. @throws InvalidRequestError naming the path */
export function checkTokenEntry(entry: unknown, path: string): TokenEntry {
  const given = readMembers(entry, path, "the token", entryMembers);
  const name = checkText(given["name"], pathTo(path, "name"), /^[A-Za-z0-9._-]{1,64}$/, "1 to 64 of A-Z a-z 0-9 . _ -");
  const sha256 = checkText(given["sha256"], pathTo(path, "sha256"), /^[0-9a-fA-F]{64}$/, "64 hexadecimal digits");
  const { admin, expires_at: expiresAt, requests_per_second: perSecond, requests_at_once: atOnce } = given;
  return {
    name,
    sha256: sha256.toLowerCase(),
    read: checkShapes(given["read"], pathTo(path, "read")),
    write: checkShapes(given["write"], pathTo(path, "write")),
    ...(admin === undefined ? {} : { admin: checkShapes(admin, pathTo(path, "admin")) }),
    ...(expiresAt === undefined ? {} : { expires_at: checkInstant(expiresAt, pathTo(path, "expires_at")) }),
    ...(perSecond === undefined
      ? {}
      : { requests_per_second: checkPerSecond(perSecond, pathTo(path, "requests_per_second")) }),
    ...(atOnce === undefined ? {} : { requests_at_once: checkAtOnce(atOnce, pathTo(path, "requests_at_once")) }),
  };
}

function checkText(value: unknown, path: string, pattern: RegExp, what: string): string {
  if (typeof value !== "string" || !pattern.test(value)) throw new InvalidRequestError(path, `must be ${what}`);
  return value;
}

function checkShapes(value: unknown, path: string): string[] {
  if (!Array.isArray(value)) throw new InvalidRequestError(path, 'must be an array of shapes, or ["*"]');
  const shapes: unknown[] = value;
  if (shapes.length > 1 && shapes.includes("*")) throw new InvalidRequestError(path, '"*" must stand alone');
  return shapes.map((shape, index) => (shape === "*" ? shape : checkShape(shape, `${path}[${index}]`)));
}

/** With a zone: without one the same file would mean another instant on another machine. */
function checkInstant(value: unknown, path: string): string {
  const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;
  const text = checkText(value, path, pattern, 'an instant with a zone, as "2030-01-31T12:00:00Z"');
  if (Number.isNaN(Date.parse(text))) throw new InvalidRequestError(path, "is not a date of the calendar");
  return text;
}

function refuseRepeated(entries: readonly TokenEntry[], member: "name" | "sha256"): void {
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    if (seen.has(entry[member])) throw new InvalidRequestError(`tokens[${index}].${member}`, "is there twice");
    seen.add(entry[member]);
  }
}
