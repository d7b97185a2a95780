import type { AddressInfo } from "node:net";
import { createServer } from "../../server/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { openStore } from "../../src/level/index.js";
import { type Weakness, weakened } from "./weakened-store.js";

/*
 * A server in a process of its own, whose store has a clock that only messages move.
 */

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
// Without whoever started it there is nothing to serve for.
process.on("disconnect", () => process.exit(0));
