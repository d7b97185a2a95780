import { hash } from "node:crypto";
import type { Fields } from "../src/documents/contract.js";
import { claimFields } from "./claim-documents.js";

/*
 * Documents by number, for stores of many: whoever knows how many there are can tell which ids exist and what they
 * hold, without a list of millions. Ids and fields hold whole hashes, as claims of derived keys do, so that they can
 * be compressed no better than those.
 */

/** The id of the document with this number: a tool, and a hash that puts neighbours in number far apart on disk. */
export function numberedId(number: number): string {
  return `send_email:${hashOf(number)}`;
}

/** What it holds: about 300 bytes as JSON, with the number as `attempt`. */
export function numberedFields(number: number): Fields {
  return { ...claimFields(number), fingerprint: hashOf(number) };
}

function hashOf(number: number): string {
  return hash("sha256", `document ${number}`);
}
