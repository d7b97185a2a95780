import type { AnyShapes } from "../src/documents/contract.js";
import { type Client, HttpStore, sharedParts } from "./http-store.js";
import { type ClientOptions, resolveOptions } from "./options.js";

export {
  type ErrorCode,
  InvalidRequestError,
  OnceKvError,
  OutcomeUnknownError,
  StoreClosedError,
  TooLargeError,
} from "../src/base/errors.js";
export type { Limits } from "../src/base/limits.js";
export type {
  AnyShapes,
  BatchOperation,
  BatchResult,
  Change,
  CheckOperation,
  Commit,
  Condition,
  DeleteOperation,
  Document,
  DocumentKey,
  DocumentStore,
  Fields,
  JsonValue,
  ListOptions,
  ListPage,
  MergePatch,
  PatchOperation,
  PutOperation,
  ShapeName,
  WaitOptions,
  WaitResult,
  WatchOptions,
  WriteIdentity,
  WriteOptions,
  WriteResult,
} from "../src/documents/contract.js";
export { type ConditionFailure, PreconditionFailedError } from "../src/documents/precondition-failed.js";
export type { Client } from "./http-store.js";
export { LostAnswerError } from "./lost-answer-error.js";
export type { CallOptions, ClientOptions } from "./options.js";

/**
 * A client of an oncekv server: a `DocumentStore` over HTTP, with kept-alive connections. Making one connects to nothing
 * yet.
 *
 *     const client = createClient<{ note: Note }>({ url: "http://127.0.0.1:7070" });
 *     await client.put({ shape: "note", id: "1", set: { text: "hello" }, if_match: { exists: false } });
 *
 * @typeParam Shapes the fields of each shape, as `{ note: Note; "tool-call": ToolCall }`
 * @throws InvalidRequestError whose `path` names the option that is wrong
 */
export function createClient<Shapes = AnyShapes>(options: ClientOptions = {}): Client<Shapes> {
  const settings = resolveOptions(options);
  return new HttpStore<Shapes>(sharedParts(settings), settings);
}
