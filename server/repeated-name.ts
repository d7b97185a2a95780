import { byteOffset } from "./json-place.js";

/** Characters of a name that an error shows: how long an answer is must not be the sender's choice. */
const shownLengthMax = 128;

/** The first name that one object in a valid JSON text has twice, in quotes, and where it is the second time, in bytes. */
export function repeatedName(text: string): { readonly name: string; readonly offset: number } {
  const open: Set<string>[] = [];
  for (let index = 0; index < text.length; index++) {
    const unit = text[index];
    if (unit === "{") open.push(new Set());
    else if (unit === "}") open.pop();
    else if (unit === '"') {
      const end = endOfString(text, index);
      if (isNameBefore(text, end + 1)) {
        const name = String(JSON.parse(text.slice(index, end + 1)));
        const names = open.at(-1);
        if (names?.has(name) === true) return { name: shown(name), offset: byteOffset(text, index) };
        names?.add(name);
      }
      index = end;
    }
  }
  return { name: "a member", offset: 0 };
}

function shown(name: string): string {
  return name.length > shownLengthMax ? `${JSON.stringify(name.slice(0, shownLengthMax))}...` : JSON.stringify(name);
}

function isNameBefore(text: string, position: number): boolean {
  let next = position;
  while (text.charCodeAt(next) <= 32) next += 1;
  return text[next] === ":";
}

/** The position of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = start + 1; end < text.length; end++) {
    if (text[end] === '"') return end;
    if (text[end] === "\\") end += 1;
  }
  return text.length;
}
