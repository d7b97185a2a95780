import { OnceKvError } from "../base/errors.js";

/*
 * The columns of a row. All that are read are texts: whatever parsers a program has set for other types, texts stay as the
 * database has them.
 */

/** A column that is a text. */
export function textIn(row: unknown, column: string): string {
  const value = textOrNullIn(row, column);
  if (value !== null) return value;
  throw new OnceKvError("internal", `broken invariant: the column ${column} is not null`);
}

/** A column that is a text, or null. */
export function textOrNullIn(row: unknown, column: string): string | null {
  const value: unknown = typeof row === "object" && row !== null ? Reflect.get(row, column) : undefined;
  if (typeof value === "string" || value === null) return value;
  throw new OnceKvError("internal", `broken invariant: the column ${column} is a text`);
}
