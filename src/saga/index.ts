export {
  type DoubtfulPart,
  SagaDivergedError,
  SagaFailedError,
  SagaNeedsReviewError,
  type SagaPart,
  SagaStepFailedError,
} from "./errors.js";
export type { SagaOptions, StepOptions } from "./options.js";
export { type SagaBody, saga } from "./saga.js";
export type { Compensation, Saga } from "./steps.js";
