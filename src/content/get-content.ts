import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import type { AnyShapes, Document, DocumentStore } from "../documents/contract.js";
import { checkShape } from "../documents/names.js";
import { kindOf } from "../documents/value-kind.js";
import { type Content, isContentId, readContent } from "./content-id.js";

/**
 * Content by the id that `putContent` gave. What is returned has that hash: it is computed again.
 *
 * @returns undefined when it is not there, or no longer
 * @throws InvalidRequestError when the id is none of content; `store_damaged` when what is there has another hash; what the
 * store throws
 */
export async function getContent<Shapes = AnyShapes>(
  store: DocumentStore<Shapes>,
  shape: string,
  id: string,
): Promise<Content | undefined> {
  if (!isContentId(id)) {
    const given = typeof id === "string" ? JSON.stringify(id) : kindOf(id);
    throw new InvalidRequestError("id", `must be the id of content, as putContent gives it, not ${given}`);
  }
  const untyped = store as unknown as DocumentStore;
  const document = await untyped.getDocument(checkShape(shape, "shape"), id);
  if (document === undefined) return undefined;
  const content = verified(document);
  if (content === undefined) throw damaged(shape, id);
  return content;
}

/** The content of a document; undefined when it is not what its id says. */
export function verified({ id, fields }: Document): Content | undefined {
  return readContent(id, fields);
}

export function damaged(shape: string, id: string): OnceKvError {
  return new OnceKvError(
    "store_damaged",
    `the content ${shape}/${id} is not what its id says: something has overwritten it; delete it, and write it again`,
  );
}
