import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ended, runCli, ServeProcess, temporaryFolder } from "./command-line.js";

/*
 * The commands for documents, against a folder and against a server. The server is a process of its own; the
 * commands run in this one.
 */

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let server: ServeProcess;

beforeAll(async () => {
  folder = await temporaryFolder();
  server = await ServeProcess.start("--data", join(folder.path, "served"));
});

afterAll(async () => {
  await server.stop();
  await folder.remove();
});

function lines(text: string): unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

describe.each(["folder", "server"] as const)("against a %s", (kind) => {
  const run = ([name = "", ...args]: string[], stdin?: string): Promise<Ended> => {
    const target = kind === "folder" ? ["--data", join(folder.path, "data")] : ["--url", server.url];
    return runCli([name, ...target, ...args], stdin);
  };

  test("a document is created once, shown, and found absent under another id", async () => {
    const created = await run(["put", "note", "1", "-", "--if-absent", "--ttl", "300"], '{"text":"hello"}');
    expect(created).toMatchObject({ code: 0, stderr: "" });
    expect(created.stdout).toMatch(/^created note\/1 at revision \d+, expires 20\d\d-.*Z\n$/);

    const again = await run(["put", "note", "1", '{"text":"other"}', "--if-absent"]);
    expect(again).toMatchObject({ code: 4, stdout: "" });
    expect(again.stderr).toMatch(
      /^oncekv: the condition does not hold for note.*revision \d+ with {"text":"hello"}\n$/,
    );

    const shown = await run(["get", "note", "1", "--json"]);
    expect(shown.code).toBe(0);
    expect(lines(shown.stdout)).toMatchObject([{ shape: "note", id: "1", fields: { text: "hello" } }]);

    const absent = await run(["get", "note", "2", "--json"]);
    expect(absent).toMatchObject({ code: 3, stdout: "" });
    expect(lines(absent.stderr)).toMatchObject([{ code: "not_found", status: 404, retryable: false }]);
  });

  test("a patch changes some fields and keeps the rest, and gives the document back", async () => {
    const file = join(folder.path, `patched-${kind}.json`);
    await writeFile(file, '{"a":1,"b":{"c":2}}');
    expect(await run(["put", "patched", "x", `@${file}`, "--ttl", "none"])).toMatchObject({ code: 0 });

    const patched = await run([
      "patch",
      "patched",
      "x",
      '{"a":null,"b":{"d":3}}',
      "--if-fields",
      '{"a":1}',
      "--return",
    ]);
    expect(patched.code).toBe(0);
    expect(patched.stdout).toMatch(/^changed patched\/x at revision \d+, expires never\n/);
    expect(JSON.parse(patched.stdout.split("\n").slice(2).join("\n"))).toEqual({ b: { c: 2, d: 3 } });

    expect(await run(["patch", "patched", "y", "{}"])).toMatchObject({ code: 3 });
    expect(await run(["patch", "patched", "x", "{}", "--if-revision", "999999"])).toMatchObject({ code: 4 });
  });

  test("a delete says what went, and is no error where nothing is", async () => {
    await run(["put", "gone", "--", "-1", '{"n":1}']);
    const deleted = await run(["delete", "gone", "--return", "--json", "--", "-1"]);
    expect(deleted.code).toBe(0);
    expect(lines(deleted.stdout)).toMatchObject([{ created: false, document: { id: "-1", fields: { n: 1 } } }]);

    expect(await run(["delete", "gone", "nothing"])).toMatchObject({ code: 0, stderr: "" });
    expect(await run(["delete", "gone", "nothing", "--if-exists"])).toMatchObject({ code: 4, stdout: "" });
  });

  test("a list shows a page and how to go on, or everything", async () => {
    for (const id of ["a 1", "a2", "b1"]) await run(["put", "listed", id, `{"is":${JSON.stringify(id)}}`]);

    const page = await run(["list", "listed", "--prefix", "a", "--limit", "1"]);
    expect(page.code).toBe(0);
    expect(page.stdout).toMatch(/^"a 1" +\d+ {2}never +\{"is":"a 1"\}\n$/);
    expect(page.stderr).toBe('there are more: --after "a 1", or --all\n');

    const rest = await run(["list", "listed", "--after", "a 1", "--json"]);
    expect(lines(rest.stdout)).toMatchObject([{ id: "a2" }, { id: "b1" }]);
    expect(rest.stderr).toBe("");

    const all = await run(["list", "listed", "--all", "--reverse", "--json"]);
    expect(lines(all.stdout)).toMatchObject([{ id: "b1" }, { id: "a2" }, { id: "a 1" }]);
  });

  test("a write id makes repeating a write harmless", async () => {
    const put = ["put", "named", "1", '{"n":1}', "--if-absent", "--write-id", `once-${kind}`, "--json"];
    const first = await run(put);
    const second = await run(put);
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(lines(second.stdout)).toEqual([{ ...(lines(first.stdout)[0] as object), replayed: true }]);
  });

  test("stats are numbers of the store", async () => {
    const stats = await run(["stats", "--json"]);
    expect(stats.code).toBe(0);
    expect(lines(stats.stdout)).toMatchObject([
      { store: { revision: expect.any(Number), durability: "durable" }, limits: { batch_operations_max: 1000 } },
    ]);
    expect((await run(["stats"])).stdout).toMatch(/^store\.revision +\d+$/m);
  });

  test("what is refused leaves with code 2 and one line", async () => {
    for (const args of [
      ["put", "note", "1", '{"a":1,"a":2}'],
      ["put", "note", "1", '{"a":9007199254740993}'],
      ["put", "note", "1", "[]"],
      ["put", "No Shape", "1", "{}"],
      ["put", "note", "1", "{}", "--ttl", "0"],
    ]) {
      const refused = await run(args);
      expect(refused, args.join(" ")).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr, args.join(" ")).toMatch(/^oncekv: [^\n]+\n$/);
    }
  });
});

test("control characters in a document reach the terminal escaped", async () => {
  const data = join(folder.path, "escapes");
  await runCli(["put", "note", "a\u0007b", '{"text":"\u009b31m\\u001b[2J\u202e"}', "--data", data]);
  const shown = await runCli(["get", "note", "a\u0007b", "--data", data]);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('"text": "\\u009b31m\\u001b[2J\\u202e"');
  expect(shown.stdout).toContain('note/"a\\u0007b"');
});
