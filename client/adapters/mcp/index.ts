export type { McpAuthInfo, McpCallContext } from "./call-context.js";
export { requestMeta, resultMeta } from "./call-meta.js";
export { guardMcpServer, type McpGuard, type McpServerLike } from "./guard-server.js";
export { callOf } from "./guarded-handler.js";
export type { McpAnsweredCall, McpGuardOptions } from "./options.js";
export type { McpToolResult } from "./tool-result.js";
