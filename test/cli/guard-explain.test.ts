import { afterEach, beforeEach, expect, test } from "vitest";
import { runCli, runProcess } from "./command-line.js";
import { GuardScene } from "./guard-scene.js";

let scene: GuardScene;

beforeEach(async () => {
  scene = await GuardScene.make();
});

afterEach(async () => {
  await scene.remove();
});

test("--explain lists all of the server's tools, what would be done with each, and why; nothing is called or kept", async () => {
  const shown = await runProcess(
    scene.guard(
      "--explain",
      "--leave",
      "set_row",
      "--guard",
      "get_status",
      "--policy",
      "send_mail=refire",
      "--leave",
      "typo",
    ),
  );
  expect(shown.code).toBe(0);
  const rows = shown.stdout.trimEnd().split("\n");
  expect(rows[0]).toMatch(/^TOOL +CALLS ARE +IN DOUBT +WHY$/);
  expect(rows.find((row) => row.startsWith("send_mail"))).toMatch(/^send_mail +guarded +refire +its name says "send"$/);
  expect(rows.find((row) => row.startsWith("get_status"))).toMatch(/^get_status +guarded +review +--guard names it$/);
  expect(rows.find((row) => row.startsWith("set_row"))).toMatch(/^set_row +left +- +--leave names it$/);
  expect(rows.find((row) => row.startsWith("directory_tree"))).toMatch(
    /^directory_tree +left +- +it is annotated as read-only$/,
  );
  expect(rows).toHaveLength(11);
  expect(shown.stderr).toContain("the server lists no tool typo");
  expect(scene.lines("entered")).toEqual([]);

  const json = await runProcess(scene.guard("--explain", "--json"));
  const tools = json.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(tools).toHaveLength(10);
  expect(tools[0]).toEqual({
    tool: "send_mail",
    guarded: true,
    policy: "review",
    reasons: [
      'its name says "send"',
      "a call in doubt is closed until somebody resolves it, since nothing makes a second fire harmless",
    ],
    annotations: null,
  });
});

test("a server that does not start, or ends at once, is told of", async () => {
  const missing = await runProcess(["guard", "--explain", "--", "/no/such/server"]);
  expect(missing).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("the server cannot be started"),
  });
  const dead = await runProcess(["guard", "--explain", "--", process.execPath, "-e", "process.exit(3)"]);
  expect(dead).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("does not answer") });
});

test("a faulty command line ends with 2 before anything is started, and shows no secret", async () => {
  const faulty: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /the command of the server is missing/],
    [["--http", "http://127.0.0.1:1/mcp", "--", "server"], /--http and a command exclude each other/],
    [["--http", "ftp://example.com"], /--http must be an address/],
    [["--http", "http://ann:pw@example.com/"], /--header-env/],
    [["--header", "A: b", "--", "server"], /--header needs --http/],
    [["--policy", "send_mail", "--", "server"], /--policy must be <tool>=refire\|review/],
    [["--policy", "send_mail=reconcile", "--", "server"], /--policy must be <tool>=refire\|review/],
    [["--policy", "a=refire", "--policy", "a=review", "--", "server"], /both refire and review/],
    [["--leave", "a", "--guard", "a", "--", "server"], /--leave and --guard both name a/],
    [["--window", "0", "--", "server"], /--window must be more than 0/],
    [["--window", "soon", "--", "server"], /number of seconds/],
    [["--scope", "", "--", "server"], /--scope must not be empty/],
    [["--data", "a", "--url", "http://127.0.0.1:1", "--", "server"], /--url and --data exclude each other/],
    [["--no-such-option", "--", "server"], /unknown option/],
    [["--explain", "--http", "http://127.0.0.1:1/", "--header", "s3cret"], /--header must be "Name: value"/],
    [
      ["--explain", "--http", "http://127.0.0.1:1/", "--header-env", "NOT_SET_HERE"],
      /NOT_SET_HERE of --header-env is not set/,
    ],
  ];
  for (const [args, message] of faulty) {
    const { code, stdout, stderr } = await runCli(["guard", ...args]);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/s3cret|pw@/);
  }
});
