import { byteOffset } from "./json-place.js";

/*
 * What is wrong with a text that the parser has refused, and where. The parser tells either the place or a piece of the text,
 * and the text may be a secret. It is walked in loops alone: neither how deep it is nor how long its strings are may matter.
 */

/** What may come next. */
type Expected = "value" | "value or end" | "name" | "name or end" | "comma or end" | "nothing";

const literals = ["true", "false", "null"];
const escapeSequence = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** The first fault of a text that is not JSON, in words: `a value is expected at byte 17`. */
export function jsonFault(text: string): string {
  const reader = new Reader(text);
  const problem = reader.read();
  const { position } = reader;
  if (position >= text.length) return `it ends too early, at byte ${byteOffset(text, text.length)}`;
  return `${problem} at byte ${byteOffset(text, position)}`;
}

/** One walk over one text, up to its first fault. */
class Reader {
  position = 0;
  readonly #text: string;
  readonly #open: ("{" | "[")[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** @returns what was expected at `position` and is not there */
  read(): string {
    let expected: Expected = "value";
    for (;;) {
      this.#skipWhitespace();
      switch (expected) {
        case "value or end":
        case "value":
          if (expected === "value or end" && this.#close()) expected = this.#afterValue();
          else {
            const next: Expected | { readonly problem: string } = this.#value();
            if (typeof next !== "string") return next.problem;
            expected = next;
          }
          break;
        case "name or end":
        case "name":
          if (expected === "name or end" && this.#close()) {
            expected = this.#afterValue();
            break;
          }
          if (!this.#take('"')) return "a name in double quotes is expected";
          if (!this.#restOfString()) return this.#inString();
          this.#skipWhitespace();
          if (!this.#take(":")) return "a colon is expected";
          expected = "value";
          break;
        case "comma or end":
          if (this.#close()) expected = this.#afterValue();
          else if (this.#take(",")) expected = this.#open.at(-1) === "{" ? "name" : "value";
          else return `a comma or ${this.#open.at(-1) === "{" ? "}" : "]"} is expected`;
          break;
        case "nothing":
          return "nothing more is expected";
      }
    }
  }

  #value(): Expected | { readonly problem: string } {
    if (this.#take("{")) {
      this.#open.push("{");
      return "name or end";
    }
    if (this.#take("[")) {
      this.#open.push("[");
      return "value or end";
    }
    if (this.#take('"')) return this.#restOfString() ? this.#afterValue() : { problem: this.#inString() };
    const literal = literals.find((word) => this.#text.startsWith(word, this.position));
    if (literal !== undefined) {
      this.position += literal.length;
      return this.#afterValue();
    }
    if (/[-\d]/.test(this.#text.charAt(this.position))) {
      return this.#number() ? this.#afterValue() : { problem: "a digit is expected" };
    }
    return { problem: "a value is expected" };
  }

  #number(): boolean {
    this.#take("-");
    if (!this.#take("0") && !this.#digits()) return false;
    if (this.#take(".") && !this.#digits()) return false;
    if (!this.#take("e") && !this.#take("E")) return true;
    if (!this.#take("+")) this.#take("-");
    return this.#digits();
  }

  #digits(): boolean {
    const start = this.position;
    while (isDigit(this.#text.charCodeAt(this.position))) this.position += 1;
    return this.position > start;
  }

  /** A string from after its first quote on; false where it is broken. */
  #restOfString(): boolean {
    while (!this.#take('"')) {
      const unit = this.#text.charCodeAt(this.position);
      if (!(unit >= 32)) return false;
      if (unit !== 92) this.position += 1;
      else if (!this.#escape()) return false;
    }
    return true;
  }

  #escape(): boolean {
    escapeSequence.lastIndex = this.position;
    const found = escapeSequence.exec(this.#text);
    this.position += found?.[0].length ?? 0;
    return found !== null;
  }

  #inString(): string {
    return this.#text[this.position] === "\\" ? "a string has a wrong escape" : "a string has a control character";
  }

  #afterValue(): Expected {
    return this.#open.length === 0 ? "nothing" : "comma or end";
  }

  /** Takes the end of the innermost container, if it is there. */
  #close(): boolean {
    if (!this.#take(this.#open.at(-1) === "{" ? "}" : "]")) return false;
    this.#open.pop();
    return true;
  }

  #take(character: string): boolean {
    if (this.#text[this.position] !== character) return false;
    this.position += 1;
    return true;
  }

  #skipWhitespace(): void {
    while (isWhitespace(this.#text.charCodeAt(this.position))) this.position += 1;
  }
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57;
}

function isWhitespace(unit: number): boolean {
  return unit === 32 || (unit >= 9 && unit <= 13 && unit !== 11 && unit !== 12);
}
