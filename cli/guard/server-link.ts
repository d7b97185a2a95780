import type { RequestId } from "./json-rpc.js";

/** What comes from a server. */
export type ServerEvent =
  | { readonly event: "line"; readonly line: Buffer }
  /** A request got no answer and will get none, while the server itself may go on: its own exchange has failed. */
  | { readonly event: "failed"; readonly id: RequestId; readonly failure: LinkFailure };

/** How a request was lost on its way. */
export interface LinkFailure {
  /** In words, without an end of a sentence. */
  readonly message: string;
  /** Whether the tool certainly was not begun. */
  readonly nothingBegun: boolean;
}

/** The way to a server, whatever carries it. */
export interface ServerLink {
  /** For people: the program or the address, without what may be secret. */
  readonly name: string;
  /** Sends one line; resolves when more may be sent. What cannot be sent comes back as an event, or as the end. */
  send(line: Buffer): Promise<void>;
  /** What the server sends, read once, at the pace of its reader. It ends when the server does. */
  readonly events: AsyncIterable<ServerEvent>;
  /** How the server ended: the exit code for this program, and in words. Resolves after the last event. */
  readonly ended: Promise<{ readonly exitCode: number; readonly message: string }>;
  /** Ends the server, or the session with it, within seconds. */
  close(): Promise<void>;
}
