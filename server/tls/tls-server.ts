import type { RequestListener, Server } from "node:http";
import { createServer } from "node:https";
import { type SecureContextOptions, Server as TlsServer } from "node:tls";
import { serverLimits } from "../limits.js";
import type { TlsKeyPair } from "./key-pair.js";

/** Makes a server that speaks HTTP/1.1 over TLS 1.2 or later, with the same bounds of time as one without TLS. */
export function makeTlsServer(pair: TlsKeyPair, onRequest: RequestListener): Server {
  return createServer(
    {
      ...secureContext(pair),
      ALPNProtocols: ["http/1.1"],
      handshakeTimeout: serverLimits.handshakeMs,
      headersTimeout: serverLimits.headersMs,
      requestTimeout: serverLimits.requestMs,
      keepAliveTimeout: serverLimits.keepAliveMs,
      keepAlive: true,
      keepAliveInitialDelay: serverLimits.probeMs,
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
