/** One entry of a tokens file. The token itself is not in it, only its digest. */
export interface TokenEntry {
  /** For people and for the log: 1 to 64 characters of A-Z, a-z, 0-9, `.`, `_` and `-`. */
  readonly name: string;
  /** The sha256 of the token, in hex. */
  readonly sha256: string;
  /** Shapes whose documents it may see; `["*"]`: all. */
  readonly read: readonly string[];
  /** Shapes whose documents it may change; `["*"]`: all. */
  readonly write: readonly string[];
  /**
   * Shapes that it may administer; `["*"]`: all, and the server. For the shape of tool calls that is deciding about calls
   * and writing their records by hand. Absent, as in files from before there was this member: administering needs no
   * more than `read` and `write`.
   */
  readonly admin?: readonly string[];
  /** ISO 8601 with a zone; absent: never. */
  readonly expires_at?: string;
  /** Requests a second, above 0, fractions allowed; absent: as the server's bounds say. */
  readonly requests_per_second?: number;
  /** Requests at the same time, waits and streams among them, from 1; absent: as the server's bounds say. */
  readonly requests_at_once?: number;
}
