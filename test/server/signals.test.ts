import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { closeOnSignals } from "../../server/index.js";
import { openStore } from "../../src/level/index.js";
import { EventReader } from "./events.js";
import { Gate } from "./gate.js";
import { send } from "./http.js";

/** Starts a process that serves a folder, and resolves once it listens. */
async function startProcess(dataDir: string): Promise<{ child: ChildProcess; port: number; output: string[] }> {
  const program = new URL("./serving-process.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--import", "tsx", program, dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const output: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => output.push(line));
  await once(lines, "line");
  return { child, port: Number(new URL(output[0] ?? "").port), output };
}

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s drains a serving process: waits are answered, it exits with 0, and the data is whole",
  async (signal) => {
    const dataDir = await mkdtemp(join(tmpdir(), "oncekv-signals-"));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const { child, port, output } = await startProcess(dataDir);
    const path = "/v1/documents/note/a";
    expect((await send(port, { method: "PUT", path, body: { set: { n: 1 } } })).status).toBe(201);
    const waiting = send(port, { method: "GET", path, headers: { "if-none-match": '"1"', prefer: "wait=300" } });
    const stream = await EventReader.open(port, "/v1/changes");
    await stream.next();
    for (let held = 0; held < 1; ) {
      const stats = (await send(port, { method: "GET", path: "/v1/stats" })).json as { server: { waits: number } };
      held = stats.server.waits;
    }
    const exited = once(child, "exit");
    const begin = performance.now();
    child.kill(signal);
    expect((await waiting).status).toBe(304);
    expect(await stream.next()).toBeUndefined();
    expect(await exited).toEqual([0, null]);
    expect(performance.now() - begin).toBeLessThan(10_000);
    expect(output.at(-1)).toBe(`closed after ${signal}`);
    const store = await openStore({ dataDir });
    expect(await store.get("note", "a")).toEqual({ n: 1 });
    await store.close();
  },
);

test("the first signal closes, and leaves a second one to do what signals do", async () => {
  const source = new EventEmitter();
  const gate = new Gate();
  let closes = 0;
  const closed = closeOnSignals(
    {
      close: () => {
        closes += 1;
        return gate.opened;
      },
    },
    source,
  );
  expect([source.listenerCount("SIGTERM"), source.listenerCount("SIGINT")]).toEqual([1, 1]);
  source.emit("SIGINT", "SIGINT");
  source.emit("SIGTERM", "SIGTERM");
  expect(closes).toBe(1);
  expect([source.listenerCount("SIGTERM"), source.listenerCount("SIGINT")]).toEqual([0, 0]);
  gate.open();
  expect(await closed).toBe("SIGINT");
});

test("a close that fails is told to whoever waits for the signal", async () => {
  const source = new EventEmitter();
  const closed = closeOnSignals({ close: () => Promise.reject(new Error("the disk is gone")) }, source);
  source.emit("SIGTERM", "SIGTERM");
  await expect(closed).rejects.toThrow("the disk is gone");
});
