import { expect, it } from "vitest";
import { completeDraft, decodeDocument, draftOf, fieldsOf } from "../../src/level/document-codec.js";

const head = { revision: 7, createdRevision: 5, createdAt: 1000, updatedAt: 2000, expiresAt: 0 };
const key = Buffer.from("dnote\0a");

function stored(fields: Parameters<typeof draftOf>[0]) {
  const document = { ...head, value: draftOf(fields).value };
  completeDraft(key, document);
  return document;
}

it("a small document keeps no large piece of memory, also after a large one was written", () => {
  const large = { text: "x".repeat(900_000) };
  for (let n = 0; n < 3; n++) {
    expect(fieldsOf(decodeDocument(key, stored(large).value))).toEqual(large);
    const small = stored({ n });
    expect(small.value.buffer.byteLength).toBeLessThanOrEqual(16 * 1024);
    expect(fieldsOf(decodeDocument(key, small.value))).toEqual({ n });
  }
});

it("documents that are encoded one after the other do not touch each other", () => {
  const documents = Array.from({ length: 500 }, (_, n) => stored({ n, text: "y".repeat(n * 3) }));
  for (const [n, document] of documents.entries()) {
    expect(decodeDocument(key, document.value)).toEqual(document);
    expect(fieldsOf(document)).toEqual({ n, text: "y".repeat(n * 3) });
  }
});
