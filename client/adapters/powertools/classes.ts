import { InvalidRequestError } from "../../../src/base/errors.js";
import type { JsonValue } from "../../../src/documents/contract.js";
import { kindOf } from "../../../src/documents/value-kind.js";

/*
 * What is used of Powertools, by its shape. Its classes come from the caller, because they must be the same ones as its own
 * code has: it tells records and errors by class and name.
 */

/** A record as Powertools makes it. */
export interface PowertoolsRecord {
  readonly idempotencyKey: string;
  /** Seconds since 1970, by the clock of the process that made the record. */
  readonly expiryTimestamp?: number | undefined;
  /** Milliseconds since 1970, by the same clock. */
  readonly inProgressExpiryTimestamp?: number | undefined;
  readonly responseData?: unknown;
  readonly payloadHash?: string | undefined;
  getStatus(): string;
}

export type PowertoolsStatus = "INPROGRESS" | "COMPLETED" | "EXPIRED";

/** What a record is made of. */
export interface PowertoolsRecordOptions {
  idempotencyKey: string;
  status: PowertoolsStatus;
  expiryTimestamp?: number;
  inProgressExpiryTimestamp?: number;
  responseData?: JsonValue;
  payloadHash?: string;
}

/** What the layer needs of its base. */
export interface PowertoolsBase {
  isPayloadValidationEnabled(): boolean;
}

/**
 * The classes, from both entry points of `@aws-lambda-powertools/idempotency`; more members are welcome, so that whole
 * modules can be spread into it.
 */
export interface PowertoolsClasses<Layer extends PowertoolsBase, Item extends PowertoolsRecord> {
  /** From `@aws-lambda-powertools/idempotency/persistence`. */
  readonly BasePersistenceLayer: abstract new () => Layer;
  /** From `@aws-lambda-powertools/idempotency/persistence`. */
  readonly IdempotencyRecord: new (
    options: PowertoolsRecordOptions,
  ) => Item;
  /** From `@aws-lambda-powertools/idempotency`. */
  readonly IdempotencyItemAlreadyExistsError: new (
    message: string,
    existingRecord: Item,
  ) => Error;
  /** From `@aws-lambda-powertools/idempotency`. */
  readonly IdempotencyItemNotFoundError: new (
    message: string,
  ) => Error;
}

const names = [
  "BasePersistenceLayer",
  "IdempotencyRecord",
  "IdempotencyItemAlreadyExistsError",
  "IdempotencyItemNotFoundError",
] as const;

/** @throws InvalidRequestError naming the class that is missing */
export function checkClasses(classes: unknown): void {
  if (typeof classes !== "object" || classes === null) {
    throw new InvalidRequestError("classes", `must be an object, not ${kindOf(classes)}`);
  }
  for (const name of names) {
    const given: unknown = Reflect.get(classes, name);
    if (typeof given === "function") continue;
    throw new InvalidRequestError(`classes.${name}`, `must be the class of Powertools, not ${kindOf(given)}`);
  }
}
