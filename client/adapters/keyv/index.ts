/** A storage adapter for Keyv: `oncekv/adapters/keyv`. */
export {
  type KeyvStore,
  type KeyvStoreEntry,
  type KeyvStoreFacts,
  type KeyvStoreOptions,
  keyvStore,
} from "./keyv-store.js";
