import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { EmbeddedStore } from "../../src/level/embedded-store.js";
import { serveParent } from "../child.js";
import { type CodeForm, loadPackage } from "../package-code.js";
import type { Durability } from "../world.js";
import { bareHandler, emptyHandler } from "./bare-handler.js";

/** What the process with a bare server does. */
export type BareProcessMethods = {
  /** Listens on a free port. Without a store it answers at once. */
  listen(input: { readonly store: BareStoreOptions | undefined }): Promise<{ readonly url: string }>;
};

/** The store behind a bare server. */
export interface BareStoreOptions {
  readonly codeForm: CodeForm;
  readonly dataDir: string;
  readonly durability: Durability;
}

let store: EmbeddedStore | undefined;
let server: Server | undefined;

const methods: BareProcessMethods = {
  async listen({ store: options }) {
    if (options !== undefined) {
      const { codeForm, dataDir, durability } = options;
      const { openStore } = await loadPackage(codeForm);
      store = await openStore({ dataDir, durability });
    }
    server = createServer(store === undefined ? emptyHandler() : bareHandler(store));
    // Longer than a pause between two rounds, as that of ours is.
    server.keepAliveTimeout = 72_000;
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}` };
  },
};

serveParent(methods, async () => {
  server?.closeAllConnections();
  server?.close();
  await store?.close();
});
