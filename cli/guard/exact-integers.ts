/*
 * JSON has integers of any size, and JavaScript rounds those beyond 2^53: an id would never be answered, two channels would be
 * one, and the number of an order would be another one. So they are held as texts with a mark in front, also in records, and
 * are written as the digits that they were. (A text that begins with the mark by itself is written as digits, too; nobody has
 * one by accident.)
 */

const mark = "oncekv/integer:";

/** The value of a JSON text, in which integers that would be rounded are marked texts. @throws SyntaxError */
export function parseExactly(text: string): unknown {
  return JSON.parse(/\d{16}/.test(text) ? withMarks(text) : text);
}

/** The JSON text of a value, in which marked texts are integers again. */
export function writeExactly(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(mark) ? text.replaceAll(/"oncekv\/integer:(-?\d{16,})"/g, "$1") : text;
}

function withMarks(text: string): string {
  const parts: string[] = [];
  let copied = 0;
  let quote = text.indexOf('"');
  let insideText = false;
  for (const match of text.matchAll(/-?\d{16,}/g)) {
    for (; quote !== -1 && quote < match.index; quote = text.indexOf('"', quote + 1)) {
      if (!insideText || !isEscaped(text, quote)) insideText = !insideText;
    }
    const [digits] = match;
    const end = match.index + digits.length;
    const isWhole = !/[\d.eE+-]/.test(text[match.index - 1] ?? "") && !/[.eE]/.test(text[end] ?? "");
    if (insideText || !isWhole || Number.isSafeInteger(Number(digits))) continue;
    parts.push(text.slice(copied, match.index), `"${mark}${digits}"`);
    copied = end;
  }
  return [...parts, text.slice(copied)].join("");
}

/** Whether what stands at a place inside of a text of JSON has an odd number of backslashes in front. */
function isEscaped(text: string, place: number): boolean {
  let first = place;
  while (text[first - 1] === "\\") first -= 1;
  return (place - first) % 2 === 1;
}
