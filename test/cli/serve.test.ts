import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { selfSigned } from "../server/self-signed.js";
import { ended, runCli, runProcess, ServeProcess, startCli, temporaryFolder, textUntil } from "./command-line.js";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
});

afterAll(() => folder.remove());

test("serve says where it listens, answers what is in flight at SIGTERM, and leaves the folder free", async () => {
  const data = join(folder.path, "drained");
  const server = await ServeProcess.start("--data", data);
  expect(server.firstLine).toBe(`oncekv listens on ${server.url}, data in ${data}`);
  await runCli(["put", "note", "1", "{}", "--url", server.url]);

  const wait = fetch(`${server.url}/v1/documents/note/2`, {
    headers: { "if-none-match": '"0"', prefer: "wait=30" },
  });
  // The server counts the wait once it holds it.
  while (!(await (await fetch(`${server.url}/v1/stats`)).text()).includes('"waits":1')) await new Promise(setImmediate);
  const end = await server.stop("SIGTERM");
  expect((await wait).status).toBe(304);
  expect(end).toMatchObject({ code: 0, stderr: "oncekv: closed after SIGTERM\n" });

  expect(await runCli(["get", "note", "1", "--data", data])).toMatchObject({ code: 0 });
});

test("a second process on a folder is told so, and the first goes on", async () => {
  const data = join(folder.path, "locked");
  const server = await ServeProcess.start("--data", data, "--json");
  expect(JSON.parse(server.firstLine)).toEqual({ url: server.url, data });

  const second = await runProcess(["serve", "--port", "0", "--data", data]);
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toMatch(/^oncekv: .*locked is open in another process[^\n]*\n$/);
  const reader = await runCli(["get", "note", "1", "--data", data, "--json"]);
  expect(reader.code).toBe(1);
  expect(JSON.parse(reader.stderr)).toMatchObject({ code: "store_locked" });

  const sameport = new URL(server.url).port;
  const third = await runCli(["serve", "--port", sameport, "--data", join(folder.path, "free")]);
  expect(third).toMatchObject({ code: 1, stdout: "" });
  expect(third.stderr).toContain("something listens there already");

  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  expect(await server.stop("SIGINT")).toMatchObject({ code: 0 });
});

test("after a kill the folder opens with no manual step, and acknowledged writes are there", async () => {
  const data = join(folder.path, "killed");
  const server = await ServeProcess.start("--data", data);
  expect(await runCli(["put", "note", "1", '{"n":1}', "--url", server.url])).toMatchObject({ code: 0 });
  await server.stop("SIGKILL");
  const shown = await runCli(["get", "note", "1", "--data", data, "--json"]);
  expect(JSON.parse(shown.stdout)).toMatchObject({ fields: { n: 1 } });
});

test("tokens: made by one command, asked for by the server, sent by the others", async () => {
  const file = join(folder.path, "tokens.json");
  const made = await runCli(["token", "reader", "--read", "note", "--add-to", file, "--json"]);
  expect(made.code).toBe(0);
  const { token, entry } = JSON.parse(made.stdout);
  expect(entry).toMatchObject({ name: "reader", read: ["note"], write: [] });
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  const writer = await runCli(["token", "writer", "--read", "*", "--write", "note,job", "--add-to", file]);
  const writerToken = /okv_[\w-]+/.exec(writer.stdout)?.[0] ?? "";
  const content = await readFile(file, "utf8");
  expect(JSON.parse(content).tokens).toMatchObject([{ name: "reader" }, { write: ["note", "job"] }]);
  expect(content).not.toContain(token);
  expect(content).not.toContain(writerToken);
  const again = await runCli(["token", "writer", "--read", "*", "--add-to", file]);
  expect(again).toMatchObject({ code: 2, stdout: "" });
  expect(again.stderr).toContain(`the tokens file ${file} has an entry named "writer" already`);
  expect(await readFile(file, "utf8")).toBe(content);

  const server = await ServeProcess.start("--data", join(folder.path, "guarded"), "--tokens", file);
  const url = ["--url", server.url];
  expect(await runCli(["get", "note", "1", ...url])).toMatchObject({ code: 1 });
  expect(await runProcess(["put", "note", "1", "{}", ...url], { env: { ONCEKV_TOKEN: token } })).toMatchObject({
    code: 1,
  });
  expect(await runCli(["put", "note", "1", "{}", ...url, "--token", writerToken])).toMatchObject({ code: 0 });
  const tokenFile = join(folder.path, "token");
  await writeFile(tokenFile, `${token}\n`);
  expect(await runCli(["get", "note", "1", ...url, "--token-file", tokenFile])).toMatchObject({ code: 0 });
  expect(await runCli(["stats", ...url, "--token", token])).toMatchObject({ code: 0 });

  // The server takes what the command adds, as it runs.
  const late = await runCli(["token", "late", "--read", "note", "--no-admin", "--add-to", file]);
  expect(late.stdout).toContain("a server that runs with this file takes it at once");
  const lateToken = /okv_[\w-]+/.exec(late.stdout)?.[0] ?? "";
  const asLate = { headers: { authorization: `Bearer ${lateToken}` } };
  while ((await fetch(`${server.url}/v1/documents/note/1`, asLate)).status === 401) await new Promise(setImmediate);
  expect(await runCli(["get", "note", "1", ...url, "--token", lateToken])).toMatchObject({ code: 0 });
  const numbers = await runCli(["stats", ...url, "--token", lateToken]);
  expect(numbers).toMatchObject({ code: 1, stdout: "" });
  expect(numbers.stderr).toContain("may not administer all shapes");
  await server.stop();

  const open = await runCli(["serve", "--port", "0", "--host", "0.0.0.0", "--data", join(folder.path, "open")]);
  expect(open).toMatchObject({ code: 2, stdout: "" });
});

test("serve speaks HTTPS with a key and a certificate, and commands that are given it know the server", async () => {
  const { key, cert } = selfSigned();
  const [keyFile, certFile] = [join(folder.path, "key.pem"), join(folder.path, "cert.pem")];
  await writeFile(keyFile, key);
  await writeFile(certFile, cert);
  const data = join(folder.path, "secured");
  const server = await ServeProcess.start("--data", data, "--tls-key", keyFile, "--tls-cert", certFile);
  expect(server.firstLine).toMatch(/^oncekv listens on https:\/\/127\.0\.0\.1:\d+, /);
  const known = ["--url", server.url, "--ca", certFile];
  expect(await runCli(["put", "note", "1", "{}", ...known])).toMatchObject({ code: 0 });
  expect(await runCli(["stats", ...known])).toMatchObject({ code: 0 });
  const stranger = await runCli(["get", "note", "1", "--url", server.url]);
  expect(stranger).toMatchObject({ code: 1, stdout: "" });
  expect(stranger.stderr).toContain("NODE_EXTRA_CA_CERTS");
  const extra = { env: { NODE_EXTRA_CA_CERTS: certFile } };
  expect(await runProcess(["get", "note", "1", "--url", server.url], extra)).toMatchObject({ code: 0 });
  expect(await server.stop()).toMatchObject({ code: 0 });

  const half = await runCli(["serve", "--port", "0", "--data", data, "--tls-key", keyFile]);
  expect(half).toMatchObject({ code: 2, stdout: "" });
  const wrong = await runCli(["serve", "--port", "0", "--data", data, "--tls-key", certFile, "--tls-cert", certFile]);
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
  expect(wrong.stderr).toContain("cert.pem holds no private key in PEM");
});

test("serve takes the bounds of what it holds, and refuses what is beyond them", async () => {
  const data = join(folder.path, "bounded");
  const server = await ServeProcess.start("--data", data, "--waits-max", "0", "--streams-max", "1");
  await runCli(["put", "note", "1", "{}", "--url", server.url]);
  const wait = { headers: { "if-none-match": '"1"', prefer: "wait=30" } };
  const refused = await fetch(`${server.url}/v1/documents/note/1`, wait);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await refused.json()).toMatchObject({ code: "overloaded", detail: "the server already holds 0 waits" });
  const stream = await fetch(`${server.url}/v1/changes`);
  expect(stream.status).toBe(200);
  expect(await (await fetch(`${server.url}/v1/changes`)).json()).toMatchObject({
    code: "overloaded",
    detail: "the server already holds 1 streams",
  });
  await stream.body?.cancel();
  expect((await fetch(`${server.url}/v1/documents/note/1`)).status).toBe(200);
  expect(await server.stop()).toMatchObject({ code: 0 });
});

test("each bound of serve reaches the server, which judges it before it makes a folder", async () => {
  for (const bound of ["connections", "requests", "held-bytes", "waiting-event-bytes", "waits", "streams"]) {
    const flag = `--${bound}-max`;
    const name = `bounds.${flag.slice(2).replace(/-[a-z]/g, (letters) => letters.slice(1).toUpperCase())}`;
    const least = bound === "waits" || bound === "streams" ? 0 : 1;
    for (const value of [...(least === 0 ? [] : ["0"]), "2147483648"]) {
      const ended = await runCli(["serve", "--port", "0", "--data", join(folder.path, "unmade"), flag, value]);
      expect(ended, flag).toEqual({
        code: 2,
        stdout: "",
        stderr: `oncekv: ${name}: must be a whole number from ${least} to 2147483647\n`,
      });
    }
  }
  await expect(stat(join(folder.path, "unmade"))).rejects.toThrow("ENOENT");
});

test("watch prints each commit as one line, resumes, and ends with 0 when interrupted", async () => {
  const data = join(folder.path, "watched");
  const server = await ServeProcess.start("--data", data);
  const watch = startCli(["watch", "note", "--url", server.url]);
  const end = ended(watch);
  expect(await textUntil(watch.stderr, "watching")).toMatch(/^watching from after revision 0;/);
  const line = textUntil(watch.stdout, "revision");
  await runCli(["put", "other", "1", "{}", "--url", server.url]);
  await runCli(["put", "note", "1", '{"n":1}', "--url", server.url]);
  expect(JSON.parse(await line)).toMatchObject({ revision: 2, changes: [{ type: "put", shape: "note", id: "1" }] });
  watch.kill("SIGINT");
  expect(await end).toMatchObject({ code: 0 });
  await server.stop();

  const history = startCli(["watch", "--since", "0", "--data", data]);
  const historyEnd = ended(history);
  await textUntil(history.stdout, '"revision":2,');
  history.kill("SIGTERM");
  const { code, stdout } = await historyEnd;
  expect(code).toBe(0);
  expect(
    stdout
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text).revision),
  ).toEqual([1, 2]);
});

test("a write whose answer is lost ends with 5 and the id that finds out", async () => {
  const deaf = createServer((socket) => socket.once("data", () => socket.destroy()));
  deaf.listen(0, "127.0.0.1");
  await once(deaf, "listening");
  const { port } = deaf.address() as { port: number };
  const put = ["put", "note", "1", "{}", "--url", `http://127.0.0.1:${port}`, "--retry-for", "0", "--write-id", "w1"];
  const lost = await runProcess([...put, "--json"]);
  deaf.close();
  expect(lost).toMatchObject({ code: 5, stdout: "" });
  expect(JSON.parse(lost.stderr)).toMatchObject({ code: "outcome_unknown", write_id: "w1" });

  const unreachable = await runCli(put);
  expect(unreachable).toMatchObject({ code: 1, stdout: "" });
  expect(unreachable.stderr).toMatch(/^oncekv: the server at 127\.0\.0\.1:\d+ cannot be reached: [^\n]+\n$/);
});

test("a reader that has enough ends the command quietly", async () => {
  const data = join(folder.path, "piped");
  await runCli(["put", "note", "1", "-", "--data", data], JSON.stringify({ text: "x".repeat(500_000) }));
  const child = startCli(["get", "note", "1", "--data", data]);
  child.stdout.destroy();
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, "close");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("a document comes in over the standard input and out over the standard output", async () => {
  const data = join(folder.path, "streamed");
  const put = await runProcess(["put", "note", "1", "-", "--data", data], { stdin: '{"text":"\u00e9"}' });
  expect(put).toMatchObject({ code: 0, stderr: "" });
  const get = await runProcess(["get", "note", "1", "--data", data, "--json"]);
  expect(JSON.parse(get.stdout)).toMatchObject({ fields: { text: "\u00e9" } });
  expect(await runProcess(["get", "note", "2", "--data", data])).toMatchObject({ code: 3, stdout: "" });
});
