import type { ToolCallDocument } from "../src/tool-calls/index.js";
import { shownId, type Terminal } from "./terminal.js";

/** Characters of a name in the table; what is longer is cut, and `show` has it. */
const widestName = 24;

/** Prints calls as a table, or nothing when there are none. */
export async function printCallTable(terminal: Terminal, calls: readonly ToolCallDocument[]): Promise<void> {
  if (calls.length === 0) return;
  const rows = [["STATE", "TOOL", "AGE", "OWNER", "LEFT", "KEY"], ...calls.map(rowOf)];
  // The key comes last, since it may be long and must be whole: the other commands take it.
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  for (const row of rows) {
    await terminal.print(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  }
}

/** Prints one call: what a person looks at first, and then the whole record. */
export async function printCall(terminal: Terminal, call: ToolCallDocument): Promise<void> {
  const { fields } = call;
  await terminal.print(`${shownId(fields.key)}  ${stateOf(call)}, attempt ${fields.attempt}, left: ${timeLeft(call)}`);
  await terminal.print(JSON.stringify(fields, undefined, 2));
}

function rowOf(call: ToolCallDocument): string[] {
  const { fields, as_of, created_at } = call;
  return [
    stateOf(call),
    cut(shownId(fields.tool)),
    duration(Date.parse(as_of) - Date.parse(created_at)),
    fields.owner === null ? "-" : cut(shownId(fields.owner)),
    timeLeft(call),
    shownId(fields.key),
  ];
}

/** The status, and whether the lease of a pending call is over: by the store's clock, as everything here. */
function stateOf({ fields, lease_expires_at, as_of }: ToolCallDocument): string {
  return lease_expires_at !== null && Date.parse(lease_expires_at) <= Date.parse(as_of) ? "lapsed" : fields.status;
}

/** Until the claim lapses, and for all others until the record is forgotten. */
function timeLeft({ lease_expires_at, expires_at, as_of }: ToolCallDocument): string {
  const end = lease_expires_at ?? expires_at;
  return end === null ? "for ever" : duration(Math.max(0, Date.parse(end) - Date.parse(as_of)));
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
] as const;

/** In its largest unit: `45s`, `12m`, `3h`, `2d`. */
export function duration(ms: number): string {
  for (const [unit, unitMs] of units) {
    if (ms >= unitMs) return `${Math.floor(ms / unitMs)}${unit}`;
  }
  return `${Math.floor(ms / 1000)}s`;
}

function cut(text: string): string {
  return text.length <= widestName ? text : `${text.slice(0, widestName - 3)}...`;
}
