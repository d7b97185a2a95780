import type { AddressInfo } from "node:net";
import { createServer } from "../../server/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import type { BatchOperation, Document, DocumentStore } from "../../src/documents/contract.js";
import { type EmbeddedStore, openStore } from "../../src/level/index.js";

/*
 * A server in a process of its own, whose store has a clock that only messages move.
 */

/** A promise that the store is made to break, to see that the checker finds it. */
export type Weakness = "forgets_write_ids" | "reads_stale";

/** What it is told. */
export type ServerMessage =
  | { readonly kind: "open"; readonly dataDir: string; readonly wall: number; readonly weakness?: Weakness | undefined }
  | { readonly kind: "advance"; readonly ms: number };

let clock: ManualClock | undefined;

process.on("message", async (message: ServerMessage) => {
  if (message.kind === "advance") {
    clock?.advance(message.ms);
    process.send?.({ now: clock?.wallNow() });
    return;
  }
  clock = new ManualClock(message.wall);
  const store = await openStore({ dataDir: message.dataDir, clock });
  const app = createServer({ store: message.weakness === undefined ? store : weakened(store, message.weakness) });
  await app.listen({ host: "127.0.0.1", port: 0 });
  process.send?.({ port: (app.server.address() as AddressInfo).port, now: store.now() });
});
function weakened(store: EmbeddedStore, weakness: Weakness): DocumentStore {
  const remembered = new Map<string, Document | undefined>();
  return new Proxy<DocumentStore>(store, {
    get: (target, name) => {
      if (name === "batch" && weakness === "forgets_write_ids") {
        return (operations: readonly BatchOperation[]) => target.batch(operations);
      }
      if (name === "getDocument" && weakness === "reads_stale") {
        return async (shape: string, id: string) => {
          const before = remembered.get(id);
          remembered.set(id, await target.getDocument(shape, id));
          return before ?? remembered.get(id);
        };
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

// Without whoever started it there is nothing to serve for.
process.on("disconnect", () => process.exit(0));
