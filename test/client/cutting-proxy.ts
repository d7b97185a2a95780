import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttingProxy {
  readonly url: string;
  /** Where new connections go. */
  target: string;
  /** Connections that came so far. */
  readonly connections: number;
  /** Forwards the next request whole, then cuts the connection in place of its answer. */
  cutNextAnswer(): void;
  /** Cuts all connections that are open now. */
  cutAll(): void;
  close(): Promise<void>;
}

/** A TCP proxy in front of a server that loses answers: the request arrives, what comes back does not. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let connections = 0;
  let cutAnswer = false;
  const server = createServer((near) => {
    connections += 1;
    const { hostname, port } = new URL(proxy.target);
    const far = connect({ host: hostname, port: Number(port) });
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on("data", (chunk: Buffer) => far.write(chunk));
    far.on("data", (chunk: Buffer) => {
      if (!cutAnswer) {
        near.write(chunk);
        return;
      }
      cutAnswer = false;
      near.resetAndDestroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: CuttingProxy = {
    target,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    cutNextAnswer() {
      cutAnswer = true;
    },
    cutAll() {
      for (const socket of open) socket.resetAndDestroy();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
  return proxy;
}
