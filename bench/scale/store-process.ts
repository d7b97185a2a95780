import type { EmbeddedStore } from "../../src/level/embedded-store.js";
import { serveParent } from "../child.js";
import { folderBytes, untilStill } from "../folder-state.js";
import { type LoadedDocument, loadDocuments } from "../loading.js";
import { type MeasuredCase, measureRound, type RoundPlan } from "../measure.js";
import { numberedFields, numberedId } from "../numbered-documents.js";
import { type CodeForm, loadPackage } from "../package-code.js";
import type { Round } from "../statistics.js";
import type { Durability } from "../world.js";
import { scaleShape } from "./number-ranges.js";
import { type ProcessMemory, processMemory } from "./process-memory.js";
import { claimCase, hitCase, missCase, type ScaleCaseName } from "./scale-cases.js";

/*
 * One store in a process of its own, so that its memory can be told apart. The parent calls the methods by name.
 */

export interface OpenStore {
  readonly code: CodeForm;
  readonly dataDir: string;
  readonly durability: Durability;
  /** Documents that it holds. */
  readonly documents: number;
  /** Where its claims begin; see `number-ranges.ts`. */
  readonly claimsFrom: number;
}

/** A store, and what is measured in it. */
interface OpenedHere {
  readonly store: EmbeddedStore;
  readonly dataDir: string;
  readonly cases: { readonly [name in ScaleCaseName]: MeasuredCase };
}

let opened: OpenedHere | undefined;

function openedHere(): OpenedHere {
  if (opened === undefined) throw new Error("no store was opened in this process");
  return opened;
}

/** What the parent can call. */
export type StoreProcessMethods = typeof methods;

const methods = {
  /** Opens the store, and tells how long that took. */
  async open({ code, dataDir, durability, documents, claimsFrom }: OpenStore): Promise<number> {
    const { openStore } = await loadPackage(code);
    const begun = performance.now();
    const store = await openStore({ dataDir, durability });
    const tookMs = performance.now() - begun;
    const cases = { claim: claimCase(store, claimsFrom), hit: hitCase(store, documents), miss: missCase(store) };
    opened = { store, dataDir, cases };
    return tookMs;
  },

  /** Loads the documents with these numbers. */
  async load({ from, to }: { readonly from: number; readonly to: number }): Promise<void> {
    const document = (number: number): LoadedDocument => ({ id: numberedId(number), fields: numberedFields(number) });
    await loadDocuments(openedHere().store, { shape: scaleShape, from, to, document });
  },

  /** See `untilStill`. */
  async settle(stillMs: number): Promise<void> {
    await untilStill(openedHere().dataDir, { stillMs });
  },

  async measure({ name, plan }: { readonly name: ScaleCaseName; readonly plan: RoundPlan }): Promise<Round> {
    const one = openedHere().cases[name];
    const round = await measureRound(one, { ...plan, callers: 1 });
    await one.check();
    return round;
  },

  async size(): Promise<ProcessMemory & { readonly diskBytes: number }> {
    return { ...(await processMemory()), diskBytes: await folderBytes(openedHere().dataDir) };
  },
};

serveParent(methods, async () => {
  await opened?.store.close();
});
