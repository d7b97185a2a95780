export { ManualClock } from "../base/manual-clock.js";
export type { OpenSubject, Subject, TestFunction } from "./conformance/case.js";
export { type ConformanceOptions, documentStoreConformance } from "./document-store-conformance.js";
