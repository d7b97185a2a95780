import { isDeepStrictEqual } from "node:util";
import type { DocumentStore } from "../../src/documents/contract.js";
import { WrongResultError } from "../checks.js";
import { claimFields, ScatteredIds } from "../claim-documents.js";
import type { Comparison, MeasuredCase } from "../measure.js";

/** Documents that the reading cases read, one after the other. */
const documentCount = 1000;

/** Cases that read: a document that is there, and one that is not. `shape` must hold nothing yet. */
export async function readCases(store: DocumentStore, shape: string): Promise<Comparison> {
  const source = new ScatteredIds();
  const ids = Array.from({ length: documentCount }, () => source.next());
  await store.batch(ids.map((id, attempt) => ({ op: "put", shape, id, set: claimFields(attempt) })));
  return [
    reading("get-hit", async (number) => {
      const index = number % documentCount;
      const id = ids[index] as string;
      return timed(
        () => store.get(shape, id),
        (fields) => isDeepStrictEqual(fields, claimFields(index)),
      );
    }),
    reading("get-miss", (number) => {
      const id = `${ids[number % documentCount]}-absent`;
      return timed(
        () => store.get(shape, id),
        (fields) => fields === undefined,
      );
    }),
  ];
}

/** A case that reads; `once` is called with 0, 1, 2 and so on. There is nothing to check but the answers. */
export function reading(name: string, once: (number: number) => Promise<number>): MeasuredCase {
  let number = 0;
  return { name, once: () => once(number++), check: () => Promise.resolve() };
}

/** Times a read and judges its answer, whose judgement is not timed. @throws WrongResultError */
export async function timed<Value>(
  read: () => Value | Promise<Value>,
  isRight: (value: Value) => boolean,
): Promise<number> {
  const begun = performance.now();
  const value = await read();
  const tookMs = performance.now() - begun;
  if (!isRight(value)) throw new WrongResultError(`a read gave ${JSON.stringify(value)}`);
  return tookMs;
}
