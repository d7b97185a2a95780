import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isGathered } from "../../cli/option-values.js";
import { mangledArgument } from "../../cli/raw-arguments.js";
import { writeBodyBytesMax } from "../../server/limits.js";
import { defaultLimits } from "../../src/base/limits.js";
import { type Ended, runCli, temporaryFolder } from "./command-line.js";
import { leafCommands } from "./command-line-scene.js";
import { hostileJson, hostileNumbers } from "./hostile-values.js";

const oneLine = /^oncekv: [^\n]+\n$/;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let data: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  data = join(folder.path, "data");
  await runCli(["put", "note", "1", '{"a":1}', "--data", data]);
});

afterAll(() => folder.remove());

function expectRefused(ended: Ended, what: string): void {
  expect(ended, what).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(oneLine) });
}

test.each(Object.entries(hostileJson))(
  "JSON that is %s is refused from everywhere, and makes no folder",
  async (what, text) => {
    const file = join(folder.path, "hostile.json");
    await writeFile(file, text);
    const nowhere = join(folder.path, "never-made");
    const forms: readonly (readonly [string, string | Buffer])[] = [
      ["-", text],
      [`@${file}`, ""],
      ...(typeof text === "string" ? [[text, ""] as const] : []),
    ];
    for (const [form, stdin] of forms) {
      const target = ["--data", nowhere];
      const put = await runCli(["put", "note", "1", form, "--data", data], stdin);
      expectRefused(put, what);
      expectRefused(await runCli(["patch", "note", "1", form, "--data", data], stdin), what);
      expectRefused(await runCli(["put", "note", "1", "{}", "--if-fields", form, "--data", data], stdin), what);
      const parsed = /JSON|UTF-8|names "|missing/.test(put.stderr);
      if (parsed) expectRefused(await runCli(["put", "note", "1", form, ...target], stdin), what);
    }
    expect(await readdir(folder.path)).not.toContain("never-made");
    expect((await runCli(["get", "note", "1", "--data", data, "--json"])).stdout).toContain('"revision":1,');
  },
);

test("numbers of all options are read strictly", async () => {
  for (const { words, command } of leafCommands()) {
    for (const option of command.options.filter(({ flags }) => /<(?:seconds|n|port|revision)>/.test(flags))) {
      for (const text of hostileNumbers) {
        const ended = await runCli([...words, `${option.long}=${text}`]);
        expectRefused(ended, `${words.join(" ")} ${option.long}=${text}`);
        expect(ended.stderr).toContain(option.long);
      }
    }
  }
});

test("every command refuses an unknown option, an option given twice and one without its value, and names it", async () => {
  for (const { words, command } of leafCommands()) {
    const mandatory = command.options.filter((option) => option.mandatory).map(({ long }) => `${long}=x`);
    const unknown = await runCli([...words, ...mandatory, "--no-such"]);
    expectRefused(unknown, words.join(" "));
    expect(unknown.stderr).toContain("unknown option '--no-such'");
    for (const option of command.options.filter(({ required }) => required)) {
      const flag = `${option.long}`;
      const missing = await runCli([...words, flag]);
      expectRefused(missing, `${words.join(" ")} ${flag}`);
      expect(missing.stderr).toContain(flag);
      const value = option.argChoices?.[0] ?? (option.parseArg === undefined ? "x" : "1");
      const forgotten = await runCli([...words, flag, flag]);
      expectRefused(forgotten, `${words.join(" ")} ${flag} ${flag}`);
      if (isGathered(option)) continue;
      const twice = await runCli([...words, flag, value, flag, value]);
      expect(twice, `${words.join(" ")} ${flag} twice`).toMatchObject({
        code: 2,
        stderr: `oncekv: ${flag} is given twice\n`,
      });
    }
  }
});

test("a forgotten value makes no folder of the next option's name, which = still can", async () => {
  const put = await runCli(["put", "note", "1", "{}", "--data", "--if-absent"]);
  expectRefused(put, "forgotten");
  expect(put.stderr).toContain("the value of --data is missing: --if-absent is an option");
  const meant = await runCli(["calls", "resolve", "k", "--not-done", "--by=ann", "--note=--json", "--data", data]);
  expect(meant.code).toBe(3);
});

test("options that contradict each other are refused", async () => {
  for (const [args, word] of [
    [["get", "note", "1", "--data", data, "--token", "t"], "--token is for a server"],
    [["get", "note", "1", "--data", data, "--token-file", "t"], "--token-file is for a server"],
    [["get", "note", "1", "--data", data, "--ca", "t"], "--ca is for a server"],
    [["get", "note", "1", "--data", data, "--url", "http://127.0.0.1:1"], "exclude each other"],
    [["token", "a", "--no-admin", "--admin", "note"], "--admin and --no-admin exclude each other"],
    [["token", "a", "--admin", "note", "--no-admin"], "--no-admin and --admin exclude each other"],
    [["serve", "--data", data, "--tls-key", "k"], "--tls-cert: is missing"],
  ] as const) {
    const ended = await runCli(args);
    expectRefused(ended, args.join(" "));
    expect(ended.stderr, args.join(" ")).toContain(word);
  }
});

test("a folder that is none is named as what it is, by every command", async () => {
  const file = join(folder.path, "a-file");
  await writeFile(file, "not a folder");
  const withData = leafCommands().filter(({ command }) => command.options.some(({ long }) => long === "--data"));
  const positional: { readonly [name: string]: string } = {
    shape: "note",
    json: "{}",
    file: join(folder.path, "made"),
  };
  for (const { words, command } of withData.filter(({ words }) => words[0] !== "guard")) {
    const values = command.registeredArguments
      .filter(({ required }) => required)
      .map((each) => positional[each.name()] ?? "1");
    const needed = command.options
      .filter(({ mandatory }) => mandatory)
      .flatMap(({ long }) => [`${long}`, long === "--into" ? join(folder.path, "made") : "x"]);
    const known = words.join(" ") === "calls resolve" ? [...needed, "--not-done"] : needed;
    const bad = join(file, "below");
    const backup = join(folder.path, "whole.okv");
    if (words[0] === "restore") await runCli(["backup", backup, "--data", data]);
    const given = words[0] === "restore" ? [backup] : values;
    const what = words.join(" ");
    for (const path of [file, bad]) {
      const ended = await runCli([...words, ...known, "--data", path, "--", ...given]);
      expect(ended, what).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(oneLine) });
      expect(ended.stderr, what).toMatch(/not a (?:folder|directory)/);
    }
    for (const path of ["", "~", "~/x"]) {
      const ended = await runCli([...words, ...known, "--data", path, "--", ...given]);
      expectRefused(ended, `${what} --data ${path}`);
    }
  }
  expect(await readdir(folder.path)).not.toContain("made");
});

test("a variable that holds no address, or no token, is named, and a folder on the command line wins over it", async () => {
  const run = async (name: string, value: string, args: readonly string[]): Promise<Ended> => {
    const before = process.env[name];
    process.env[name] = value;
    try {
      return await runCli(args);
    } finally {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    }
  };
  for (const [name, value] of [
    ["ONCEKV_URL", "nowhere"],
    ["ONCEKV_TOKEN", "two words"],
    ["ONCEKV_TOKEN", "okv_secret\u00e9"],
  ] as const) {
    const ended = await run(name, value, ["get", "note", "1"]);
    expectRefused(ended, name);
    expect(ended.stderr).toContain(`the variable ${name} must`);
    expect(ended.stderr).not.toContain(value);
  }
  expect(await run("ONCEKV_URL", "http://127.0.0.1:1", ["get", "note", "1", "--data", data])).toMatchObject({
    code: 0,
  });
});

test("input without an end is not read to its end", async () => {
  const tooLong = Buffer.alloc(writeBodyBytesMax(defaultLimits) + 1, 0x20);
  const put = await runCli(["put", "note", "1", "-", "--data", data], tooLong);
  expectRefused(put, "stdin");
  expect(put.stderr).toContain("the JSON is too long");
  if (process.platform === "win32") return;
  for (const args of [
    ["put", "note", "1", "@/dev/zero", "--data", data],
    ["token", "a", "--add-to", "/dev/zero"],
    ["get", "note", "1", "--token-file", "/dev/zero"],
    ["get", "note", "1", "--ca", "/dev/zero"],
    ["serve", "--data", data, "--tokens", "/dev/zero"],
    ["serve", "--data", data, "--tls-key", "/dev/zero", "--tls-cert", "/dev/zero"],
  ]) {
    const ended = await runCli(args);
    expectRefused(ended, args.join(" "));
    expect(ended.stderr, args.join(" ")).toMatch(/holds more than \d+ bytes/);
  }
});

test("an argument whose bytes were no UTF-8 is found, and one that really holds that character is not", () => {
  const wellFormed = Buffer.from("put\0\ufffd\0");
  expect(mangledArgument(["put", "note"], () => undefined)).toBeUndefined();
  expect(mangledArgument(["put", "\ufffd"], () => wellFormed)).toBeUndefined();
  expect(mangledArgument(["put", "\ufffd"], () => Buffer.from([0x70, 0, 0xff, 0]))).toBe(2);
  expect(mangledArgument(["put", "\ufffd"], () => undefined)).toBe(2);
});
