import type { DocumentStore } from "../../src/documents/contract.js";
import { checkStored, WrongResultError } from "../checks.js";
import { LatestWrites } from "../claim-documents.js";
import type { MeasuredCase } from "../measure.js";
import { numberedFields, numberedId } from "../numbered-documents.js";
import { missingFrom, randomNumber, scaleShape } from "./number-ranges.js";

/** What is measured in a store of any size. */
export type ScaleCaseName = "claim" | "hit" | "miss";

/** Seconds that claims live: longer than the measurement, so that no sweep of them falls into it. */
const claimTtl = 3600;

/** Creates documents that are absent. */
export function claimCase(store: DocumentStore, firstNumber: number): MeasuredCase {
  const writes = new LatestWrites();
  let number = firstNumber;
  return {
    name: "claim",
    async once() {
      const id = numberedId(number);
      const fields = numberedFields(number);
      number += 1;
      const begun = performance.now();
      const { created, revision } = await store.put({
        shape: scaleShape,
        id,
        set: fields,
        ttl: claimTtl,
        if_match: { exists: false },
      });
      const tookMs = performance.now() - begun;
      if (!created) throw new WrongResultError(`the claim of ${id} was accepted, but did not create it`);
      writes.add({ id, fields, revision });
      return tookMs;
    },
    check: () => checkStored(store, scaleShape, writes.list()),
  };
}

/** Reads random documents that are there, of `documents` that were loaded. */
export function hitCase(store: DocumentStore, documents: number): MeasuredCase {
  return {
    name: "hit",
    async once() {
      const number = randomNumber(0, documents);
      const id = numberedId(number);
      const begun = performance.now();
      const fields = await store.get(scaleShape, id);
      const tookMs = performance.now() - begun;
      if (fields?.["attempt"] !== number) {
        throw new WrongResultError(`${id} must hold attempt ${number}, but is ${JSON.stringify(fields)}`);
      }
      return tookMs;
    },
    check: () => Promise.resolve(),
  };
}

/** Looks for documents that are not there. */
export function missCase(store: DocumentStore): MeasuredCase {
  return {
    name: "miss",
    async once() {
      const id = numberedId(randomNumber(missingFrom, missingFrom));
      const begun = performance.now();
      const fields = await store.get(scaleShape, id);
      const tookMs = performance.now() - begun;
      if (fields !== undefined) throw new WrongResultError(`${id} was never written, but is ${JSON.stringify(fields)}`);
      return tookMs;
    },
    check: () => Promise.resolve(),
  };
}
