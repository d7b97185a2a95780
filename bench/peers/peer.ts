import type { Fields } from "../../src/documents/contract.js";
import type { CodeForm } from "../package-code.js";
import type { Durability } from "../world.js";

/** Something that keeps documents, and that a user might pick for claims. */
export interface Peer {
  /** What is measured, for a table: the product and the operation. */
  readonly name: string;
  /** Whether its write fails on a document that is there. Else it writes in any case, and has no losers. */
  readonly createsIfAbsent: boolean;
  /** What its answer rests on in each mode, in a few words; absent: it has no such mode. */
  readonly rests: { readonly [durability in Durability]?: string };
  /**
   * The product's version on this machine. Loads the code that will be measured.
   *
   * @throws MissingPeerError
   */
  version(): Promise<string>;
  /** Opens an empty store. A server is started for it. */
  open(options: OpeningPeer): Promise<OpenedPeer>;
}

export interface OpeningPeer {
  /** An empty folder. */
  readonly dataDir: string;
  /** One that the peer has. */
  readonly durability: Durability;
  /** Which code of oncekv is measured; nothing to the others. */
  readonly codeForm: CodeForm;
}

/** A store that is measured. */
export interface OpenedPeer {
  /** Writes a document; resolves with whether it won, when that is as durable as the mode says. */
  create(id: string, fields: Fields): Promise<boolean>;
  /** What is stored; undefined: nothing. */
  read(id: string): Promise<unknown>;
  /** Ends everything, a server included. The folder stays. */
  close(): Promise<void>;
}

/** A peer cannot be measured on this machine. The message says why, and what to install. */
export class MissingPeerError extends Error {
  override readonly name = "MissingPeerError";
}
