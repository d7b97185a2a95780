// Threads do not take over what `--import tsx` does for TypeScript sources: each registers it by itself.
import { isMainThread } from "node:worker_threads";
import { register } from "tsx/esm/api";

if (!isMainThread) register();
