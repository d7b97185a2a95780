import { X509Certificate } from "node:crypto";
import type { Server } from "node:http";
import { readKeyPair, type TlsFiles, type TlsKeyPair } from "../tls/key-pair.js";
import { replaceKeyPair } from "../tls/tls-server.js";
import type { Reloadable } from "./reloading.js";

/** The key and the certificate of a running server. Connections that are open keep what they began with. */
export function reloadableKeyPair(files: TlsFiles, server: Server): Reloadable<TlsKeyPair> {
  return {
    name: "the TLS key and certificate",
    label: "tls",
    files: [files.keyFile, files.certFile],
    read: () => readKeyPair(files),
    textOf: ({ key, cert }) => key + cert,
    take: (pair) => {
      replaceKeyPair(server, pair);
      return { valid_to: new X509Certificate(pair.cert).validTo };
    },
  };
}
