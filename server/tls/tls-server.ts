import type { RequestListener, Server } from "node:http";
import { createServer } from "node:https";
import { type SecureContextOptions, Server as TlsServer } from "node:tls";
import { connectionTimes, type ServerLimits } from "../limits.js";
import type { TlsKeyPair } from "./key-pair.js";

/** Makes a server that speaks HTTP/1.1 over TLS 1.2 or later, with the same bounds of time as one without TLS. */
export function makeTlsServer(pair: TlsKeyPair, limits: ServerLimits, onRequest: RequestListener): Server {
  return createServer(
    {
      ...secureContext(pair),
      ALPNProtocols: ["http/1.1"],
      handshakeTimeout: limits.handshakeMs,
      keepAliveTimeout: limits.keepAliveMs,
      ...connectionTimes(limits),
    },
    onRequest,
  );
}

/** Has a server take another pair for the connections that begin from now on. */
export function replaceKeyPair(server: Server, pair: TlsKeyPair): void {
  if (server instanceof TlsServer) server.setSecureContext(secureContext(pair));
}

function secureContext({ key, cert }: TlsKeyPair): SecureContextOptions {
  return { key, cert, minVersion: "TLSv1.2" };
}
