/** A persistence layer for Powertools for AWS Lambda: `oncekv/adapters/powertools`. */
export type {
  PowertoolsBase,
  PowertoolsClasses,
  PowertoolsRecord,
  PowertoolsRecordOptions,
  PowertoolsStatus,
} from "./classes.js";
export { type PersistenceLayerOptions, persistenceLayer } from "./persistence-layer.js";
