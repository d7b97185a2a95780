import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { TlsKeyPair } from "../../server/index.js";

/*
 * Certificates for tests. Node reads and checks certificates but makes none, and a tool that does need not be on the machine; so
 * the few fields that one must have are put together here, in DER.
 */

interface CertificateOptions {
  /** The name in the certificate, by which tests tell one from another. */
  readonly name?: string;
  /** The end of its time, as `20991231235959Z`. */
  readonly notAfter?: string;
}

/** A new key and a certificate of itself, for 127.0.0.1 and localhost, which whoever trusts it may take for an authority. */
export function selfSigned({ name = "test", notAfter = "20991231235959Z" }: CertificateOptions = {}): TlsKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const content = sequence(
    der(0xa0, integer(2)),
    integer(1 + Math.floor(Math.random() * 2 ** 30)),
    ecdsaWithSha256,
    nameOf(name),
    sequence(der(0x18, Buffer.from("20200101000000Z")), der(0x18, Buffer.from(notAfter))),
    nameOf(name),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(authority, alternativeNames)),
  );
  const certificate = sequence(content, ecdsaWithSha256, bits(sign("sha256", content, privateKey)));
  return { key: pemOf(privateKey), cert: pem("CERTIFICATE", certificate) };
}

function pemOf(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

/** One element: a tag, its length, its content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, ...parts);
}

/** @param value from 0 to 2^31 - 1 */
function integer(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  let start = 0;
  while (start < 3 && bytes[start] === 0 && (bytes[start + 1] ?? 0) < 128) start += 1;
  return der(0x02, bytes.subarray(start));
}

function bits(content: Buffer): Buffer {
  return der(0x03, Buffer.from([0]), content);
}

/** An object identifier, by its encoded content in hex. */
function identifier(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

const ecdsaWithSha256 = sequence(identifier("2a8648ce3d040302"));

/** Basic constraints: it is an authority; marked as critical. */
const authority = sequence(
  identifier("551d13"),
  der(0x01, Buffer.from([0xff])),
  der(0x04, sequence(der(0x01, Buffer.from([0xff])))),
);

/** The names that clients compare with the address: localhost and 127.0.0.1. */
const alternativeNames = sequence(
  identifier("551d11"),
  der(0x04, sequence(der(0x82, Buffer.from("localhost")), der(0x87, Buffer.from([127, 0, 0, 1])))),
);

function nameOf(name: string): Buffer {
  return sequence(der(0x31, sequence(identifier("550403"), der(0x0c, Buffer.from(name)))));
}
