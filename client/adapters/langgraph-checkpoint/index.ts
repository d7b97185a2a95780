export type { CheckpointSaverOptions } from "./options.js";
export { checkpointSaver, type NumberedVersions } from "./saver.js";
export type { SaverBase, SaverBaseClass, Serializer } from "./types.js";
