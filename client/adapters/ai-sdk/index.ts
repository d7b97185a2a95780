export { callOf } from "../../../src/tools/entered-calls.js";
export { guardTool, guardTools } from "./guard.js";
export type { AnswerOf, GuardedTool, GuardedTools, MaybeGuardedTool, ToolSetLike } from "./guarded-types.js";
export type { GuardToolOptions, GuardToolsOptions, ToolCallOptions } from "./options.js";
