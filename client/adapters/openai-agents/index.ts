export { callOf } from "../../../src/tools/entered-calls.js";
export { guardTool } from "./guard.js";
export type { GuardToolOptions } from "./options.js";
export type {
  AnswerOf,
  GuardedToolOptions,
  InputOf,
  RunContextLike,
  ToolCallDetailsLike,
  ToolOptionsLike,
} from "./tool-types.js";
