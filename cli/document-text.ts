import type { Document } from "../src/documents/contract.js";
import { shownId, type Terminal } from "./terminal.js";

/** Prints a document for people: a line about it, and its fields. */
export async function printDocument(terminal: Terminal, document: Document): Promise<void> {
  const { shape, id, revision, updated_at, expires_at, fields } = document;
  await terminal.print(
    `${shape}/${shownId(id)}  revision ${revision}, updated ${updated_at}, expires ${expires_at ?? "never"}`,
  );
  await terminal.print(JSON.stringify(fields, undefined, 2));
}

/** One line a document: as much of the fields as the terminal is wide. */
export function documentLine(document: Document, idWidth: number, lineWidth: number): string {
  const id = shownId(document.id).padEnd(idWidth);
  const expiry = document.expires_at ?? "never";
  const line = `${id}  ${String(document.revision).padStart(8)}  ${expiry.padEnd(24)}  ${JSON.stringify(document.fields)}`;
  return line.length <= lineWidth ? line : `${line.slice(0, lineWidth - 3)}...`;
}
