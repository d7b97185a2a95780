import { defaultLimits } from "../base/limits.js";
import type { Fields, JsonValue } from "./contract.js";
import { checkJson } from "./json-value.js";

/**
 * The one text of a JSON value by RFC 8785: no spaces, members in the order of their names' UTF-16 code units, numbers as
 * ECMAScript writes them, only the escapes that JSON demands. Equal values have equal texts, and different ones different
 * texts, so that a hash of the text identifies the value.
 *
 * Two passes: the value is judged and normalised by the rules of a document's fields first (so members that are undefined
 * are dropped, and -0 is 0, exactly as it would be stored), then written.
 *
 * @param path names `value` in errors
 * @throws InvalidRequestError, TooLargeError as `checkJson` does, with the bounds of `defaultLimits`
 */
export function canonicalJson(value: JsonValue, path: string = ""): string {
  return writeCanonicalJson(checkJson(value, path, defaultLimits));
}

/**
 * The second pass alone, for a value that is made of what `checkFields` or `checkJson` returned. It throws nothing, also
 * when the checked parts were put together to a deeper value than a document may hold.
 */
export function writeCanonicalJson(checked: JsonValue): string {
  if (typeof checked === "string") return quote(checked);
  if (typeof checked !== "object" || checked === null) return String(checked);
  return Array.isArray(checked) ? writeArray(checked) : writeObject(checked);
}

function writeArray(elements: readonly JsonValue[]): string {
  let text = "";
  for (const element of elements) text += `${text === "" ? "" : ","}${writeCanonicalJson(element)}`;
  return `[${text}]`;
}

function writeObject(members: Fields): string {
  let text = "";
  // Without a comparison of its own, sort compares UTF-16 code units, as the RFC wants it.
  for (const name of Object.keys(members).sort()) {
    const member = members[name];
    if (member !== undefined) text += `${text === "" ? "" : ","}${quote(name)}:${writeCanonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** What JSON escapes, and some control characters (U+007F to U+009F) that it does not. */
const mayNeedEscape = /["\\\p{Cc}]/u;

/** Few texts need an escape, and looking for one costs less than JSON.stringify, which looks too. */
function quote(text: string): string {
  return mayNeedEscape.test(text) ? JSON.stringify(text) : `"${text}"`;
}
