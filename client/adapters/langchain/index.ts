export type { CommandClass } from "./command.js";
export { callOf } from "./entering.js";
export { guardTool, guardTools, type LangChainGuardOptions, type LangChainTools, type ToolConfig } from "./guard.js";
