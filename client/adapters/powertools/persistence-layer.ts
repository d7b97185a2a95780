import { systemClock } from "../../../src/base/clock.js";
import type { AnyShapes, Document, DocumentStore } from "../../../src/documents/contract.js";
import { checkShape } from "../../../src/documents/names.js";
import { readMembers } from "../../../src/documents/request-members.js";
import { checkClasses, type PowertoolsBase, type PowertoolsClasses, type PowertoolsRecord } from "./classes.js";
import { claimWrite, recordOptions, resultWrite } from "./record-document.js";
import { Records } from "./records.js";

/** Options of `persistenceLayer`. */
export interface PersistenceLayerOptions {
  /** The shape of the records, "powertools-idempotency" when absent. */
  readonly shape?: string | undefined;
}

const optionNames: ReadonlySet<string> = new Set(["shape"]);

/**
 * A persistence layer of Powertools over a store:
 *
 *     import * as idempotency from "@aws-lambda-powertools/idempotency";
 *     import * as persistence from "@aws-lambda-powertools/idempotency/persistence";
 *
 *     const persistenceStore = persistenceLayer({ ...idempotency, ...persistence }, store);
 *     export const handler = idempotency.makeIdempotent(work, { persistenceStore });
 *
 * Keep one for as long as the process lives: a layer remembers the claims that its workers hold.
 *
 * @returns an instance of a class made from `BasePersistenceLayer`
 * @throws InvalidRequestError
 */
export function persistenceLayer<Layer extends PowertoolsBase, Item extends PowertoolsRecord, Shapes = AnyShapes>(
  classes: PowertoolsClasses<Layer, Item>,
  store: DocumentStore<Shapes>,
  options: PersistenceLayerOptions = {},
): Layer {
  checkClasses(classes);
  readMembers(options, "", "the options", optionNames);
  const shape = checkShape(options.shape ?? "powertools-idempotency", "shape");
  // Records have their own shape: how the others are typed does not matter here.
  const records = new Records(store as unknown as DocumentStore, shape);
  const { IdempotencyRecord, IdempotencyItemAlreadyExistsError, IdempotencyItemNotFoundError } = classes;
  const Base: abstract new () => PowertoolsBase = classes.BasePersistenceLayer;
  // Powertools asks the system for the time, so that its instants have to be read by the same clock.
  const now = (): number => systemClock.wallNow();
  const toRecord = (document: Document): Item => new IdempotencyRecord(recordOptions(document, now()));

  class OnceKvPersistenceLayer extends Base {
    async _putRecord(record: Item): Promise<void> {
      const { idempotencyKey: key } = record;
      const validated = this.isPayloadValidationEnabled();
      const standing = await records.claim(key, () => claimWrite(record, now(), validated, store.limits));
      if (standing === undefined) return;
      throw new IdempotencyItemAlreadyExistsError(`there is a record of ${key}`, toRecord(standing));
    }

    async _updateRecord(record: Item): Promise<void> {
      const write = resultWrite(record, now(), this.isPayloadValidationEnabled(), store.limits);
      await records.complete(record.idempotencyKey, write);
    }

    async _deleteRecord(record: Item): Promise<void> {
      await records.remove(record.idempotencyKey);
    }

    async _getRecord(key: string): Promise<Item> {
      const document = await records.read(key);
      if (document === undefined) throw new IdempotencyItemNotFoundError(`there is no record of ${key}`);
      return toRecord(document);
    }
  }

  const layer: PowertoolsBase = new OnceKvPersistenceLayer();
  return layer as Layer;
}
