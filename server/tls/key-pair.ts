import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { InvalidRequestError } from "../../src/base/errors.js";
import { readBoundedFile } from "../bounded-file.js";

/** A server's key and certificate, in PEM. */
export interface TlsKeyPair {
  /** The private key, without a passphrase. */
  readonly key: string;
  /** The server's own certificate, and after it those that lead to its authority. */
  readonly cert: string;
}

/** Where they are. */
export interface TlsFiles {
  readonly keyFile: string;
  readonly certFile: string;
}

/**
 * Reads a key and its certificate, and judges whether they are a pair. When the certificate is valid is left to those who
 * connect: a clock that is wrong must not keep a server down.
 *
 * @throws InvalidRequestError naming the file and what is wrong with it, and nothing of its content
 */
export async function readKeyPair({ keyFile, certFile }: TlsFiles): Promise<TlsKeyPair> {
  const key = await readText(keyFile, "key");
  const cert = await readText(certFile, "certificate");
  checkKeyPair({ key, cert }, keyFile, certFile);
  return { key, cert };
}

/**
 * Judges a pair.
 *
 * @param keyName names the key for the error, as `certName` the certificate
 * @throws InvalidRequestError
 */
export function checkKeyPair({ key, cert }: TlsKeyPair, keyName: string, certName: string): void {
  const certificate = parse(
    () => new X509Certificate(cert),
    `${certName} holds no certificate in PEM ("-----BEGIN CERTIFICATE-----")`,
  );
  const privateKey: KeyObject = parse(
    () => createPrivateKey(key),
    `${keyName} holds no private key in PEM ("-----BEGIN PRIVATE KEY-----"), or one that needs a passphrase`,
  );
  if (certificate.checkPrivateKey(privateKey)) return;
  throw new InvalidRequestError(
    "",
    `the key in ${keyName} is not that of the first certificate in ${certName}; the server's own comes first, then its chain`,
  );
}

async function readText(file: string, what: string): Promise<string> {
  try {
    return (await readBoundedFile(file)).toString("utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidRequestError("", `the TLS ${what} cannot be read: ${reason}`, { cause: error });
  }
}

/** Without the cause: what the parser says of a key is of no help, and nobody should have to think about what is in it. */
function parse<T>(read: () => T, problem: string): T {
  try {
    return read();
  } catch {
    throw new InvalidRequestError("", problem);
  }
}
