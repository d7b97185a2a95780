import { createHash } from "node:crypto";
import { OnceKvError } from "../../../src/base/errors.js";
import type { DocumentStore, Fields } from "../../../src/documents/contract.js";
import { type CheckpointPlace, idOf } from "./place.js";
import type { Serializer } from "./types.js";

/*
 * A serialised value in the store. A small one stands where it belongs; a large one is cut into parts, documents of their
 * own, which are written first. They are named by the hash of the whole, so that nothing that is still read is overwritten,
 * and what refers to them is written when all of them are there: a crash between the two leaves parts that nobody sees.
 */

/** A value as a document has it. */
export type Body = Fields & {
  /** The serialiser's own name for the form of the bytes. */
  readonly type: string;
  /** Bytes that are UTF-8 stand as text. */
  readonly encoding: "utf8" | "base64";
  readonly text?: string;
  readonly sha256?: string;
  readonly parts?: number;
};

/** A serialised value before it is known where it will stand. */
export interface Encoded {
  readonly type: string;
  readonly encoding: "utf8" | "base64";
  readonly text: string;
}

/** Where bodies are kept. */
export interface BodyStore {
  readonly store: DocumentStore;
  readonly shape: string;
  /** Seconds to live of parts: longer than of what refers to them; null: for ever. */
  readonly partTtl: number | null;
}

/** UTF-16 units of one part: at most three bytes each, it fits into a document of 512 KiB. */
const partUnits = 160 * 1024;

/** Parts that are asked for at once, and that fit into one answer. */
const partsAtOnce = 16;

/** @throws what the serialiser throws */
export async function encode(value: unknown, serde: Serializer): Promise<Encoded> {
  const [type, bytes] = await serde.dumpsTyped(value);
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { type, encoding: "utf8", text };
  } catch {
    return { type, encoding: "base64", text: Buffer.from(bytes).toString("base64") };
  }
}

/**
 * Puts what is longer than `inlineUnits` into parts, durably, and returns what refers to it.
 *
 * @param inlineUnits UTF-16 units that may stand in the document itself
 */
export async function keepBody(
  { store, shape, partTtl }: BodyStore,
  place: CheckpointPlace,
  { text, ...form }: Encoded,
  inlineUnits: number,
): Promise<Body> {
  if (text.length <= inlineUnits) return { ...form, text };
  const sha256 = createHash("sha256").update(text).digest("hex");
  const parts = cut(text);
  for (const [index, part] of parts.entries()) {
    await store.put({ shape, id: partId(place, sha256, index), set: { text: part }, ttl: partTtl });
  }
  return { ...form, sha256, parts: parts.length };
}

/** @returns the value in one member; undefined: a part is not there @throws OnceKvError, and what the serialiser throws */
export async function loadBody(
  { store, shape }: BodyStore,
  place: CheckpointPlace,
  body: Body,
  serde: Serializer,
): Promise<{ readonly value: unknown } | undefined> {
  const { type, encoding, sha256 = "", parts = 0 } = body;
  let { text = "" } = body;
  for (let first = 0; first < parts; first += partsAtOnce) {
    const count = Math.min(partsAtOnce, parts - first);
    const keys = Array.from({ length: count }, (_, index) => ({ shape, id: partId(place, sha256, first + index) }));
    for (const document of await store.getMany(keys)) {
      const part = document?.fields["text"];
      if (typeof part !== "string") return undefined;
      text += part;
    }
  }
  if (parts > 0 && createHash("sha256").update(text).digest("hex") !== sha256) {
    throw new OnceKvError(
      "store_damaged",
      `the parts of checkpoint ${JSON.stringify(place.checkpointId)} are not what was written`,
    );
  }
  return { value: await serde.loadsTyped(type, Buffer.from(text, encoding)) };
}

function partId(place: CheckpointPlace, sha256: string, index: number): string {
  return idOf("part", place, sha256, String(index).padStart(6, "0"));
}

/** A pair of surrogates stays in one part: a half of it is no text. */
function cut(text: string): readonly string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + partUnits, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}
