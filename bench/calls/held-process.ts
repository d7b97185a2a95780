import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveParent } from "../child.js";
import { heldRequests } from "./held-requests.js";

/** What the process with the bare server of held requests does. */
export type HeldProcessMethods = {
  /** Listens on a free port. */
  listen(input: undefined): Promise<{ readonly url: string }>;
};

const server = createServer(heldRequests());
// Longer than a pause between two rounds, as that of ours is.
server.keepAliveTimeout = 72_000;

const methods: HeldProcessMethods = {
  async listen() {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}` };
  },
};

serveParent(methods, async () => {
  server.closeAllConnections();
  server.close();
});
