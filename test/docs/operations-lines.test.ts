import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ended, runCli, startShell, temporaryFolder, textUntil } from "../cli/command-line.js";
import { leafCommands } from "../cli/command-line-scene.js";

const root = new URL("../../", import.meta.url);
const page = await readFile(new URL("docs/operations.md", root), "utf8");
const { bin } = JSON.parse(await readFile(new URL("package.json", root), "utf8")) as { bin: { oncekv: string } };
const executable = bin.oncekv.replace("./", "");

type Section = ReadonlyMap<string, string>;

/** What an INI file says: each setting once in its section, or it is refused. */
function parseIni(text: string): ReadonlyMap<string, Section> {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const [, name] = /^\[(\w+)\]$/.exec(line) ?? [];
    const [, key = "", value = ""] = /^(\w+)=(\S.*)$/.exec(line) ?? [];
    if (name !== undefined && !sections.has(name)) {
      section = new Map();
      sections.set(name, section);
    } else if (key !== "" && section?.has(key) === false) section.set(key, value);
    else throw new Error(`the unit cannot be read at ${line}`);
  }
  return sections;
}

const unit = parseIni(/```ini\n([^`]*)```/.exec(page)?.[1] ?? "");
const service = unit.get("Service") ?? new Map<string, string>();
const execStart = (service.get("ExecStart") ?? "").split(" ");
const [, entry = "[]"] = /`ENTRYPOINT (\[[^`]*\])`/.exec(page) ?? [];
const [, command = "[]"] = /`CMD (\[[^`]*\])`/.exec(page) ?? [];
const container = [...(JSON.parse(entry) as string[]), ...(JSON.parse(command) as string[])];

function valueAfter(args: readonly string[], option: string): string {
  return args.includes(option) ? (args[args.indexOf(option) + 1] ?? "") : "";
}

/** Runs `serve` with the page's own arguments, and gives what it has left in its folder, by name, with modes. */
async function runToItsEnd(
  args: readonly string[],
  replaced: { readonly [option: string]: string },
  umask = "022",
): Promise<ReadonlyMap<string, number>> {
  const own = args.map((argument, index) => replaced[args[index - 1] ?? ""] ?? argument);
  const child = startShell(`umask ${umask} && exec "$@"`, [...own, "--port", "0"]);
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const end = ended(child);
  const line = await Promise.race([textUntil(child.stdout, "://"), end]);
  if (typeof line !== "string") throw new Error(`it ended with ${line.code}: ${line.stderr}`);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? "";
  for (const path of ["/readyz", "/healthz"]) expect((await fetch(`${url}${path}`)).status, path).toBe(200);
  child.kill("SIGTERM");
  expect(await end).toMatchObject({ code: 0 });
  const folder = replaced["--data"] ?? "";
  const modes = new Map([[".", (await stat(folder)).mode & 0o777]]);
  for (const name of await readdir(folder)) modes.set(name, (await stat(join(folder, name))).mode & 0o777);
  return modes;
}

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.remove());
  return folder.path;
}

describe("the systemd unit of docs/operations.md", () => {
  test("starts the package's executable on a folder in its state directory, which is its user's alone", () => {
    expect([...unit.keys()]).toEqual(["Unit", "Service", "Install"]);
    expect(execStart.slice(0, 3)).toEqual(["/usr/bin/node", `/opt/oncekv/${executable}`, "serve"]);
    // All else is read-only under ProtectSystem=strict.
    expect(service.get("ProtectSystem")).toBe("strict");
    const folder = valueAfter(execStart, "--data");
    expect(folder.startsWith(`/var/lib/${service.get("StateDirectory")}/`), folder).toBe(true);
    expect([service.get("UMask"), service.get("StateDirectoryMode")]).toEqual(["0077", "0700"]);
    // The server itself gives up after ten seconds, and closes its store then.
    expect(Number(service.get("TimeoutStopSec"))).toBeGreaterThanOrEqual(20);
  });

  test("is about the folder that all other lines of the page are about", () => {
    const folder = valueAfter(execStart, "--data");
    const served = [...page.matchAll(/oncekv serve --data (\S+)/g)].map(([, data]) => data);
    expect(new Set(served)).toEqual(new Set([folder]));
    expect(page).toMatch(new RegExp(`^mv ${folder} `, "m"));
    expect(page).toMatch(new RegExp(`^oncekv restore \\S+ --data ${folder}$`, "m"));
    expect(page).toMatch(new RegExp(`^oncekv repair --data ${folder} `, "m"));
    expect(page).toContain(`fuser ${folder}/LOCK`);
  });

  test("starts a server that is ready, ends with 0 on SIGTERM, and leaves nothing that others may read", async () => {
    const data = join(await newFolder(), "data");
    const modes = await runToItsEnd(execStart.slice(2), { "--data": data }, service.get("UMask"));
    expect(modes.get(".")).toBe(0o700);
    expect(modes.size).toBeGreaterThan(3);
    for (const [name, mode] of modes) expect(mode & 0o077, name).toBe(0);
    // With the umask that most systems have others may: the look above can fail.
    const usual = await runToItsEnd(execStart.slice(2), { "--data": join(await newFolder(), "data") });
    expect([...usual.values()].some((mode) => (mode & 0o077) !== 0)).toBe(true);
  });

  test("would not be read with a setting twice, one outside of a section, or a line that is none", () => {
    for (const text of ["[A]\nb=1\nb=2", "b=1\n[A]", "[A]\nb", "[A]\nb=", "[A]\n[A]"]) {
      expect(() => parseIni(text), text).toThrow("cannot be read");
    }
  });
});

test("the container's ENTRYPOINT and CMD start a server that is ready, and end with 0 on SIGTERM", async () => {
  expect(container.slice(0, 3)).toEqual(["node", `/app/node_modules/oncekv/${executable}`, "serve"]);
  const folder = await newFolder();
  const tokens = join(folder, "tokens.json");
  expect(await runCli(["token", "worker", "--read", "*", "--write", "*", "--add-to", tokens])).toMatchObject({
    code: 0,
  });
  // Tests listen on loopback alone.
  expect(valueAfter(container, "--host")).toBe("0.0.0.0");
  const replaced = { "--data": join(folder, "data"), "--tokens": tokens, "--host": "127.0.0.1" };
  expect((await runToItsEnd(container.slice(2), replaced)).size).toBeGreaterThan(3);
});

describe("the command lines of docs/operations.md", () => {
  const lines = [...page.matchAll(/(?:^|`)(oncekv [a-z][^`\n]*)/gm)].map(([, line = ""]) => line.split(" ").slice(1));
  const commands = leafCommands();

  test.each([...lines, execStart.slice(2), container.slice(2)].map((words) => [words.join(" "), words] as const))(
    "oncekv %s: its options exist",
    (_, words) => {
      const leaf = commands.find(({ words: own }) => own.every((word, index) => words[index] === word));
      const known = leaf?.command.options.map(({ long }) => long);
      expect(known, "there is such a command").toBeDefined();
      for (const word of words) if (word.startsWith("--")) expect(known).toContain(word);
    },
  );

  test("options that stand alone are options of some command", () => {
    expect(lines.length).toBeGreaterThan(12);
    const known = new Set(commands.flatMap(({ command: { options } }) => options.map(({ long }) => long)));
    const named = new Set([...page.matchAll(/`(--[a-z][a-z-]*)/g)].map(([, option]) => option));
    expect(named.size).toBeGreaterThan(3);
    for (const option of named) expect(known).toContain(option);
  });
});
