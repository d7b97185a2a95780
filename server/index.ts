/** The HTTP server: `oncekv/server`. */
export { type NewToken, newToken, type TokenScopes } from "./access/new-token.js";
export type { TokenEntry } from "./access/token-entry.js";
export { Tokens, type TokensChange } from "./access/tokens.js";
export { parseTokens, readTokensFile, type TokensRules } from "./access/tokens-file.js";
export { createServer, type ServerOptions } from "./create-server.js";
export type { ServerBounds } from "./limits.js";
export type { Problem } from "./problem.js";
export { type ListenOptions, type RunningServer, type ServeOptions, serve } from "./serve.js";
export { type Closeable, closeOnSignals, type SignalSource } from "./signals.js";
export type { TlsKeyPair } from "./tls/key-pair.js";
