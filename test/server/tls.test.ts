import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../client/index.js";
import { createServer, serve, type TlsKeyPair } from "../../server/index.js";
import { openMemoryStore } from "../../src/level/index.js";
import { Gate, until } from "./gate.js";
import { selfSigned } from "./self-signed.js";
import { startServer, withMethods } from "./test-server.js";

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-tls-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

async function writePair(folder: string, { key, cert }: TlsKeyPair) {
  const files = { tlsKeyFile: join(folder, "key.pem"), tlsCertFile: join(folder, "cert.pem") };
  await writeFile(files.tlsKeyFile, key);
  await writeFile(files.tlsCertFile, cert);
  return files;
}

async function startTls(pair = selfSigned()) {
  const store = await openMemoryStore();
  const files = await writePair(await temporaryFolder(), pair);
  const server = await serve({ store, port: 0, logLevel: "silent", ...files });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  return { store, server, files, port: Number(new URL(server.url).port), pair };
}

function secured(port: number, ca: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", ca, ALPNProtocols: ["h2", "http/1.1"] });
    socket.on("error", reject);
    socket.once("secureConnect", () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}

function ended(socket: { once(event: "close", listener: () => void): unknown }): Promise<void> {
  return new Promise((resolve) => socket.once("close", resolve));
}

test("with a key and a certificate the server speaks HTTPS, and a client that is given its authority talks to it", async () => {
  const { server, pair } = await startTls();
  expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const client = createClient({ url: server.url, ca: pair.cert });
  onTestFinished(() => client.close());
  await client.put({ shape: "note", id: "a", set: { n: 1 } });
  expect(await client.get("note", "a")).toEqual({ n: 1 });
  for await (const commit of client.watch({ shape: "note", since: 0 })) {
    expect(commit).toMatchObject({ revision: 1 });
    break;
  }
});

test("HTTP/1.1 is the one protocol, and TLS 1.1 is too old", async () => {
  const { port, pair } = await startTls();
  const socket = await secured(port, pair.cert);
  expect([socket.alpnProtocol, socket.getProtocol()]).toEqual(["http/1.1", "TLSv1.3"]);
  socket.destroy();
  const old = connect({ port, host: "127.0.0.1", ca: pair.cert, minVersion: "TLSv1.1", maxVersion: "TLSv1.1" });
  await expect(new Promise((_, reject) => old.once("error", reject))).rejects.toThrow();
});

test("a client that does not know the authority is told so at once, and what to do", async () => {
  const { server } = await startTls();
  const client = createClient({ url: server.url, retryFor: 30 });
  onTestFinished(() => client.close());
  const begin = performance.now();
  await expect(client.get("note", "a")).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/self-signed certificate.*option ca/),
  });
  expect(performance.now() - begin).toBeLessThan(10_000);
  const other = createClient({ url: server.url, ca: selfSigned().cert });
  onTestFinished(() => other.close());
  await expect(other.get("note", "a")).rejects.toMatchObject({ code: "unavailable" });
});

test("what begins no handshake gets no answer, costs nobody else anything, and is no fault of the program", async () => {
  const { server, port, pair } = await startTls();
  for (const text of ["GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", "\x16\x03\x01\xff\xffnonsense", "\0".repeat(600)]) {
    const plain = connectPlain(port, "127.0.0.1");
    let received = "";
    plain.on("data", (chunk) => {
      received += String(chunk);
    });
    plain.on("error", () => {});
    plain.write(text);
    if (text.startsWith("\x16")) plain.end();
    await ended(plain);
    expect(received).not.toContain("HTTP/1.1 2");
  }
  const client = createClient({ url: server.url, ca: pair.cert });
  onTestFinished(() => client.close());
  expect(await client.get("note", "a")).toBeUndefined();
});

test("over TLS too, close answers what is in flight, and waits for no connection that does nothing", async () => {
  const gate = new Gate();
  let waiting = 0;
  const pair = selfSigned();
  const { app, port, store } = await startServer({
    tls: pair,
    wrap: (inner) =>
      withMethods(inner, {
        put: async (write) => {
          waiting += 1;
          await gate.opened;
          return inner.put(write);
        },
      }),
  });
  const body = '{"set":{"n":1}}';
  const put = new Promise<{ status: number | undefined; connection: string | undefined }>((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": body.length };
    const path = "/v1/documents/note/a";
    const request = httpsRequest(
      { port, host: "127.0.0.1", path, method: "PUT", ca: pair.cert, headers },
      (response) => {
        response.resume();
        resolve({ status: response.statusCode, connection: response.headers.connection });
      },
    );
    request.on("error", reject);
    request.end(body);
  });
  await until(() => waiting === 1);
  const silent = connectPlain(port, "127.0.0.1");
  await new Promise<void>((resolve) => silent.once("connect", resolve));
  const idle = await secured(port, pair.cert);
  const closures = Promise.all([ended(silent.resume()), ended(idle.resume())]);
  const begin = performance.now();
  const closed = app.close();
  // Both go while the request is still at work.
  await closures;
  gate.open();
  expect(await put).toEqual({ status: 201, connection: "close" });
  await closed;
  expect(performance.now() - begin).toBeLessThan(5000);
  expect(await store.get("note", "a")).toEqual({ n: 1 });
});

test("a pair that is replaced serves the connections that begin from then on, and half of one changes nothing", async () => {
  const { port, files, pair } = await startTls(selfSigned({ name: "first" }));
  const second = selfSigned({ name: "second" });
  const open = await secured(port, pair.cert);
  const both = `${pair.cert}${second.cert}`;
  const subject = async (): Promise<string | undefined> => {
    const socket = await secured(port, both);
    const certificate = socket.getPeerX509Certificate();
    socket.destroy();
    return certificate?.subject;
  };
  await writeFile(`${files.tlsKeyFile}.new`, second.key);
  await rename(`${files.tlsKeyFile}.new`, files.tlsKeyFile);
  // Longer than a server takes to look: this key alone is not a pair with the old certificate.
  for (let times = 0; times < 20; times++) expect(await subject()).toBe("CN=first");
  await writeFile(`${files.tlsCertFile}.new`, second.cert);
  await rename(`${files.tlsCertFile}.new`, files.tlsCertFile);
  while ((await subject()) !== "CN=second") await new Promise((resolve) => setImmediate(resolve));
  open.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  const [answer] = (await new Promise((resolve) => open.once("data", (chunk) => resolve([chunk])))) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1.1 200 /);
  open.destroy();
});

test("a wrong pair, a missing file, and files that hold something else are refused, each by its name", async () => {
  const store = await openMemoryStore();
  onTestFinished(() => store.close());
  const folder = await temporaryFolder();
  const pair = selfSigned();
  const other = selfSigned();
  const attempt = async (key: string, cert: string): Promise<string> => {
    const files = await writePair(folder, { key, cert });
    const error: unknown = await serve({ store, port: 0, logLevel: "silent", ...files }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: "invalid_request" });
    return (error as Error).message;
  };
  expect(await attempt(other.key, pair.cert)).toMatch(
    /the key in .*key\.pem is not that of the first certificate in .*cert\.pem/,
  );
  expect(await attempt(pair.cert, pair.key)).toMatch(/cert\.pem holds no certificate in PEM/);
  expect(await attempt("", pair.cert)).toMatch(/key\.pem holds no private key in PEM/);
  expect(await attempt(pair.key.slice(0, 100), pair.cert)).toMatch(/key\.pem holds no private key/);
  expect(await attempt(pair.key, pair.cert.slice(0, 200))).toMatch(/cert\.pem holds no certificate/);
  const secret = pair.key.split("\n")[1] ?? "";
  expect(await attempt(`${secret}`, pair.cert)).not.toContain(secret);

  const missing = { tlsKeyFile: join(folder, "absent.pem"), tlsCertFile: join(folder, "cert.pem") };
  await expect(serve({ store, port: 0, ...missing })).rejects.toThrow(
    /the TLS key cannot be read: ENOENT.*absent\.pem/,
  );
  await expect(serve({ store, port: 0, tlsKeyFile: missing.tlsKeyFile })).rejects.toMatchObject({
    path: "tlsCertFile",
  });
  await expect(serve({ store, port: 0, tlsCertFile: "x" })).rejects.toMatchObject({ path: "tlsKeyFile" });
  expect(() => createServer({ store, tls: { key: other.key, cert: pair.cert } })).toThrow(
    "the key in tls.key is not that of the first certificate in tls.cert",
  );
});

test("a certificate whose time is over is served, and clients refuse it", async () => {
  const { server, pair } = await startTls(selfSigned({ notAfter: "20210101000000Z" }));
  const client = createClient({ url: server.url, ca: pair.cert, retryFor: 0 });
  onTestFinished(() => client.close());
  await expect(client.get("note", "a")).rejects.toThrow(/certificate has expired/);
});

test("the client's ca is judged: certificates, for an https address, and not beside a dispatcher", () => {
  const { cert } = selfSigned();
  for (const options of [
    { ca: "not a certificate", url: "https://127.0.0.1:1" },
    { ca: cert, url: "http://127.0.0.1:1" },
    { ca: cert },
  ]) {
    expect(() => createClient(options)).toThrow(expect.objectContaining({ code: "invalid_request", path: "ca" }));
  }
});
