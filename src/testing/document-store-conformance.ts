import { batchCases } from "./conformance/batches.js";
import { type OpenSubject, registerWith, type TestFunction } from "./conformance/case.js";
import { closingCases } from "./conformance/closing.js";
import { concurrencyCases } from "./conformance/concurrency.js";
import { conditionFailureCases } from "./conformance/condition-failures.js";
import { conditionCases } from "./conformance/conditions.js";
import { expiryCases } from "./conformance/expiry.js";
import { idCases } from "./conformance/ids.js";
import { isolationCases } from "./conformance/isolation.js";
import { listingCases } from "./conformance/listing.js";
import { patchingCases } from "./conformance/patching.js";
import { readingCases } from "./conformance/reading.js";
import { requestCases } from "./conformance/requests.js";
import { revisionCases } from "./conformance/revisions.js";
import { scanningCases } from "./conformance/scanning.js";
import { valueCases } from "./conformance/values.js";
import { waitingCases } from "./conformance/waiting.js";
import { watchResumingCases } from "./conformance/watch-resuming.js";
import { watchingCases } from "./conformance/watching.js";
import { writeIdCases } from "./conformance/write-ids.js";
import { writingCases } from "./conformance/writing.js";

/** What the conformance suite needs. */
export interface ConformanceOptions {
  /** Registers one test with your runner. */
  readonly test: TestFunction;
  /** Called once for each case. */
  readonly open: OpenSubject;
}

/**
 * Registers the conformance suite of `DocumentStore` with any test runner: whatever passes it keeps the contract, and
 * callers cannot tell it from the embedded store, except by its speed and its `limits`, which the suite reads.
 *
 *     documentStoreConformance({ test, open: async () => ({ store: await openMyStore() }) });
 *
 * Each case uses shapes that nothing else has used, so that `open` may give stores that share their data. A store whose
 * time can be moved by hand gives `advance`; then deadlines are looked at to the millisecond and nothing sleeps for them.
 */
export function documentStoreConformance(options: ConformanceOptions): void {
  const register = registerWith(options.test, options.open);
  readingCases(register);
  writingCases(register);
  patchingCases(register);
  conditionCases(register);
  conditionFailureCases(register);
  revisionCases(register);
  expiryCases(register);
  batchCases(register);
  writeIdCases(register);
  listingCases(register);
  scanningCases(register);
  watchingCases(register);
  watchResumingCases(register);
  waitingCases(register);
  valueCases(register);
  idCases(register);
  requestCases(register);
  isolationCases(register);
  concurrencyCases(register);
  closingCases(register);
}
