import type { AddressInfo } from "node:net";
import { createServer } from "../../server/index.js";
import { type Clock, systemClock } from "../../src/base/clock.js";
import { openStore } from "../../src/level/index.js";

/*
 * The server in a process of its own, with a wall clock that messages step.
 */

export type ServerMessage =
  | { readonly kind: "open"; readonly dataDir: string; readonly wallOffset: number }
  | { readonly kind: "step"; readonly ms: number };

let offset = 0;
const clock: Clock = {
  wallNow: () => systemClock.wallNow() + offset,
  monotonicNow: () => systemClock.monotonicNow(),
  setTimer: (delayMs, callback) => systemClock.setTimer(delayMs, callback),
};

process.on("message", async (message: ServerMessage) => {
  if (message.kind === "step") {
    offset += message.ms;
    process.send?.({ offset });
    return;
  }
  offset = message.wallOffset;
  const store = await openStore({ dataDir: message.dataDir, clock });
  const app = createServer({ store, clock });
  await app.listen({ host: "127.0.0.1", port: 0 });
  process.send?.({ port: (app.server.address() as AddressInfo).port });
});
process.on("disconnect", () => process.exit(0));
