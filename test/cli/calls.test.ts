import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { duration } from "../../cli/calls-text.js";
import { createClient } from "../../client/index.js";
import type { DocumentStore } from "../../src/documents/contract.js";
import { openStore } from "../../src/level/index.js";
import { type ToolCalls, toolCalls } from "../../src/tool-calls/index.js";
import { type Ended, runCli, ServeProcess, temporaryFolder } from "./command-line.js";

/* `oncekv calls`, on a folder and on a server. The calls that it looks at are made by a worker of the same store. */

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

const review = { policy: "review", scope: "cli" } as const;

function json(text: string): unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

describe.each(["folder", "server"] as const)("on a %s", (kind) => {
  const data = () => join(folder.path, "data");

  /** A worker makes its calls and goes: a folder can be open in one process only. */
  async function work(act: (calls: ToolCalls) => Promise<unknown>): Promise<void> {
    const store: DocumentStore =
      kind === "folder" ? await openStore({ dataDir: data() }) : createClient({ url: server.url });
    const calls = toolCalls(store, { owner: "worker-1" });
    await act(calls);
    await calls.close();
    await store.close();
  }

  const run = (name: string, ...args: string[]): Promise<Ended> => {
    const target = kind === "folder" ? ["--data", data()] : ["--url", server.url];
    return runCli(["calls", name, ...args, ...target]);
  };

  /** A call whose outcome nobody knows. */
  const inDoubt = (key: string): Promise<void> =>
    work(async (calls) => {
      const claim = await calls.claim({ tool: "mail", args: { to: key }, key, ...review });
      if (claim.claimed) await claim.unknown(new Error("timeout"));
    });

  test("calls are listed as a table, and as JSON", async () => {
    await work(async (calls) => {
      await calls.run({ tool: "ok", args: 1, scope: "listed", key: "done" }, () => "sent");
      const held = await calls.claim({ tool: "slow", args: 1, scope: "listed", key: "a b", pendingTtl: 3600 });
      expect(held.claimed).toBe(true);
      await calls.prepare({ tool: "waits", args: 1, scope: "listed", key: "later" });
      await calls.close({ timeout: 0 });
    });
    const table = await run("list", "--scope", "listed");
    expect(table).toMatchObject({ code: 0, stderr: "" });
    const rows = table.stdout.trimEnd().split("\n");
    expect(rows[0]).toMatch(/^STATE +TOOL +AGE +OWNER +LEFT +KEY$/);
    expect(rows[1]).toMatch(/^completed +ok +\d+s +worker-1 +\d+m +listed\/ok:done$/);
    expect(rows[2]).toMatch(/^pending +slow +\d+s +worker-1 +\d+m +"listed\/slow:a b"$/);
    expect(rows[3]).toMatch(/^planned +waits +\d+s +- +for ever +listed\/waits:later$/);

    const page = await run("list", "--scope", "listed", "--limit", "1", "--json");
    expect(json(page.stdout)).toMatchObject([{ id: "listed/ok:done", fields: { status: "completed" } }]);
    expect(json(page.stderr)).toMatchObject([{ next: "listed/ok:done" }]);
    const all = await run("list", "--scope", "listed", "--all", "--status", "planned", "--json");
    expect(json(all.stdout)).toMatchObject([{ id: "listed/waits:later" }]);
    expect((await run("list", "--scope", "nothing")).stdout).toBe("");
    expect(await run("list", "--status", "done")).toMatchObject({ code: 2, stdout: "" });
  });

  test("a lapsed call is shown as one", async () => {
    await work(async (calls) => {
      await calls.claim({ tool: "dead", args: 1, scope: "lapsed", key: "k", pendingTtl: 1 });
      await calls.close({ timeout: 0 });
    });
    const listed = async () => (await run("list", "--scope", "lapsed")).stdout;
    await expect.poll(listed, { timeout: 60_000 }).toMatch(/\nlapsed +dead .* 0s +lapsed\/dead:k\n$/);
  });

  test("a call in doubt is shown, resolved by one person, and its result is what others get", async () => {
    await inDoubt("a");
    const shown = await run("show", "cli/mail:a");
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/^cli\/mail:a {2}unknown, attempt 1, left: for ever\n{\n/);
    const waited = await run("wait", "cli/mail:a", "--for", "0", "--json");
    expect(waited.code).toBe(1);
    expect(json(waited.stderr)).toMatchObject([{ code: "needs_review", call: { key: "cli/mail:a" } }]);

    const resolution = ["--result", '{"message":"m-1"}', "--by", "ann", "--note", "found in the outbox"];
    const resolved = await run("resolve", "cli/mail:a", ...resolution, "--remember", "7200");
    expect(resolved).toMatchObject({ code: 0, stdout: "cli/mail:a is completed now\n" });
    const outcome = await run("wait", "cli/mail:a");
    expect(JSON.parse(outcome.stdout)).toEqual({ message: "m-1" });
    const [record] = json((await run("show", "cli/mail:a", "--json")).stdout);
    expect(record).toMatchObject({
      fields: { history: [{ by: "ann", note: "found in the outbox", verdict: "done" }] },
    });
    const { updated_at, expires_at } = record as { updated_at: string; expires_at: string };
    expect(Date.parse(expires_at) - Date.parse(updated_at)).toBe(7_200_000);

    const again = await run("resolve", "cli/mail:a", "--not-done", "--by", "ben");
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toMatch(/^oncekv: the call "cli\/mail:a" is completed: there is nothing to resolve\n$/);
  });

  test("a call is resolved as failed, or as not done", async () => {
    await inDoubt("b");
    await inDoubt("c");
    expect((await run("resolve", "cli/mail:b", "--error", "bounced", "--by", "ann", "--json")).stdout).toContain(
      '"message":"bounced"',
    );
    expect((await run("wait", "cli/mail:b")).stderr).toMatch(/has failed: bounced\n$/);
    const notDone = await run("resolve", "cli/mail:c", "--not-done", "--by", "ann", "--remember", "1");
    expect(notDone.stdout).toBe("cli/mail:c is released now\n");
  });

  test("a parked call is approved by the fingerprint of what was looked at", async () => {
    await work(async (calls) => {
      const claim = await calls.claim({ tool: "pay", args: { eur: 500 }, scope: "cli", key: "p" });
      if (claim.claimed) await claim.park("waits for Ann").catch(() => {});
    });
    const [call] = json((await run("show", "cli/pay:p", "--json")).stdout);
    const { fingerprint } = (call as { fields: { fingerprint: string } }).fields;
    const wrong = await run("approve", "cli/pay:p", "--by", "ann", "--fingerprint", "0");
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    const approved = await run("approve", "cli/pay:p", "--by", "ann", "--fingerprint", fingerprint);
    expect(approved).toMatchObject({ code: 0, stdout: "cli/pay:p is released now\n" });
  });

  test("a call is forgotten, and forgetting what is not there is no error", async () => {
    await inDoubt("d");
    expect((await run("forget", "cli/mail:d")).stdout).toBe("forgot cli/mail:d\n");
    expect((await run("forget", "cli/mail:d", "--json")).stdout).toBe('{"forgotten":false}\n');
    expect(await run("show", "cli/mail:d")).toMatchObject({ code: 3, stdout: "" });
    expect(await run("wait", "cli/mail:d")).toMatchObject({ code: 3, stdout: "" });
  });

  test("what is asked in the wrong way leaves with code 2 and one line", async () => {
    for (const args of [
      ["resolve", "k", "--by", "ann"],
      ["resolve", "k", "--not-done"],
      ["resolve", "k", "--not-done", "--result", "1", "--by", "ann"],
      ["resolve", "k", "--result", "{", "--by", "ann"],
      ["resolve", "k", "--result", '1,"more":2', "--by", "ann"],
      ["resolve", "k", "--result", '{"a":1,"a":2}', "--by", "ann"],
      ["resolve", "k", "--not-done", "--by", "ann", "--remember", "0"],
      ["approve", "k", "--by", "ann"],
      ["wait", "k", "--for", "3601"],
      ["wait", "k", "--for", "-1"],
      ["look"],
    ]) {
      const [name = "", ...rest] = args;
      const refused = await run(name, ...rest);
      expect(refused, args.join(" ")).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr, args.join(" ")).toMatch(/^oncekv: [^\n]+\n$/);
    }
  });
});

test("times are shown in their largest unit", () => {
  expect([0, 999, 59_999, 60_000, 3_599_999, 3_600_000, 86_400_000, 864_000_000].map(duration)).toEqual([
    "0s",
    "0s",
    "59s",
    "1m",
    "59m",
    "1h",
    "1d",
    "10d",
  ]);
});
