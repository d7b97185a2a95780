import { readFile } from "node:fs/promises";
import type { Condition } from "../../src/documents/contract.js";
import { loadPackage } from "../package-code.js";
import type { OpenedPeer, OpeningPeer, Peer } from "./peer.js";

const shape = "tool-call";

const rests = {
  durable: "on disk",
  buffered: "with the operating system",
} as const;

/** Ours, as it is meant to be used. */
export const oncekvCreate: Peer = {
  name: "oncekv create-if-absent",
  createsIfAbsent: true,
  rests,
  version,
  open: (options) => open(options, { exists: false }),
};

/** Ours without a condition. */
export const oncekvPut: Peer = {
  name: "oncekv put",
  createsIfAbsent: false,
  rests,
  version,
  open: (options) => open(options, undefined),
};

async function version(): Promise<string> {
  const text = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

async function open(options: OpeningPeer, condition: Condition | undefined): Promise<OpenedPeer> {
  const { dataDir, durability, codeForm } = options;
  const { openStore } = await loadPackage(codeForm);
  const store = await openStore({ dataDir, durability });
  return {
    async create(id, fields) {
      if (condition === undefined) {
        await store.put({ shape, id, set: fields });
        return true;
      }
      try {
        await store.put({ shape, id, set: fields, if_match: condition });
        return true;
      } catch (error) {
        // By its code, since the error's class is the measured package's own, compiled apart from this file.
        if (error instanceof Error && "code" in error && error.code === "precondition_failed") return false;
        throw error;
      }
    },
    read: (id) => store.get(shape, id),
    close: () => store.close(),
  };
}
