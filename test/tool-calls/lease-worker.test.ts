import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Agent } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { createClient } from "../../client/index.js";
import { type RunningServer, serve } from "../../server/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { type EmbeddedStore, openMemoryStore } from "../../src/level/index.js";
import { type ToolCallsOptions, toolCalls } from "../../src/tool-calls/index.js";
import { RecordStore } from "../../src/tool-calls/record-store.js";
import { nanoseconds, type ThreadHold, ThreadRenewals } from "../../src/tool-calls/thread-renewals.js";
import { openScene, type Scene, settled } from "./scene.js";

const inThread = { lease: { renewIn: "worker" } } as const;

async function openServer(): Promise<{ store: EmbeddedStore; server: RunningServer }> {
  const store = await openMemoryStore();
  const server = await serve({ store, port: 0, logLevel: "silent" });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  return { store, server };
}

interface BlockingWorker {
  /** Its tool has been entered. */
  readonly entered: Promise<void>;
  /** What it printed in the end. */
  readonly ended: Promise<unknown>;
}

/** Far longer than its lease of two seconds. */
const blockMs = 5000;

/** A process whose tool blocks its event loop. */
function blockingWorker(url: string, renewIn: string): BlockingWorker {
  const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  const args = ["--import", "tsx", "--import", file("tsx-in-threads.mjs"), file("blocking-worker.ts")];
  const child: ChildProcess = spawn(process.execPath, [...args, url, renewIn, `${blockMs}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let text = "";
  let enter: () => void = () => {};
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.startsWith("entered\n")) enter();
  });
  const ended = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve(JSON.parse(text.slice("entered\n".length))) : reject(new Error(`it ended with ${code}`)),
    );
  });
  return { entered, ended };
}

const compute = { tool: "compute", args: 1 };

describe("a tool that holds up its event loop for longer than its lease", () => {
  it("keeps its claim when that is renewed in a thread, and others wait for it", async () => {
    const { store, server } = await openServer();
    const worker = blockingWorker(server.url, "worker");
    await worker.entered;
    const other = await toolCalls(store, { waitTimeout: 30 }).run(compute, () => "computed twice");
    expect(other).toMatchObject({ result: "computed", was_replay: true, attempt: 1 });
    expect(await worker.ended).toEqual({ valid: true, aborted: false, result: "computed", persisted: true });
  });

  it("loses it when the loop is to renew it, and knows", async () => {
    const { store, server } = await openServer();
    const worker = blockingWorker(server.url, "loop");
    await worker.entered;
    const other = await toolCalls(store, { waitTimeout: 30 }).run(compute, () => "computed twice");
    expect(other).toMatchObject({ result: "computed twice", was_replay: false, attempt: 2 });
    expect(await worker.ended).toEqual({ valid: false, aborted: true, code: "claim_lost" });
  });

  it("knows that it may have lost it when no renewal of the thread is acknowledged", async () => {
    const { server } = await openServer();
    const worker = blockingWorker(server.url, "worker");
    await worker.entered;
    await server.close();
    expect(await worker.ended).toEqual({ valid: false, aborted: true, result: "computed", persisted: false });
  });
});

describe("a thread for renewals", () => {
  it("is refused where it could not help: over an embedded store, and with a client that it cannot make", async () => {
    const { store, server } = await openServer();
    expect(() => toolCalls(store, inThread)).toThrow(
      expect.objectContaining({
        code: "invalid_request",
        path: "lease.renewIn",
        message: expect.stringContaining("event loop"),
      }),
    );
    const dispatcher = new Agent();
    const client = createClient({ url: server.url, dispatcher });
    onTestFinished(async () => {
      await client.close();
      await dispatcher.close();
    });
    expect(() => toolCalls(client, inThread)).toThrow(expect.objectContaining({ path: "dispatcher" }));
    const clock = new ManualClock();
    const usual = createClient({ url: server.url });
    onTestFinished(() => usual.close());
    expect(() => toolCalls(usual, { ...inThread, clock })).toThrow(expect.objectContaining({ path: "clock" }));
  });

  it("that does not start lets nothing be fired, and is started again for the next call", async () => {
    const { store } = await openScene();
    let asked = 0;
    const reachable = Object.assign(Object.create(store) as EmbeddedStore, {
      limits: store.limits,
      threadAccess: () => {
        asked += 1;
        return { module: new URL("./no-such-module.js", import.meta.url).href, open: "openStore", options: {} };
      },
    });
    const calls = toolCalls(reachable, inThread);
    let fires = 0;
    for (let tries = 0; tries < 2; tries++) {
      const failed = calls.run(compute, () => {
        fires += 1;
      });
      await expect(failed).rejects.toMatchObject({ code: "unavailable", cause: expect.anything() });
    }
    expect([asked, fires]).toEqual([1, 0]);
    expect(await store.getDocument("tool-call", calls.keyOf(compute))).toBeUndefined();
    await calls.close();
  });

  it.each([
    [{ renewIn: "thread" }, "lease.renewIn"],
    [{ renewin: "worker" }, "lease.renewin"],
  ])("is asked for by a judged option: %j", async (lease, path) => {
    const { worker } = await openScene();
    const options = { lease } as unknown as ToolCallsOptions;
    expect(() => worker("A", options)).toThrow(expect.objectContaining({ code: "invalid_request", path }));
  });
});

describe("what the thread does", () => {
  /** A claim of 9 seconds that the thread holds, for a tool that may run for 30. */
  async function held(scene: Scene) {
    const { clock } = scene;
    const { calls } = scene.worker("A", { pendingTtl: 9 });
    const claim = await calls.claim(compute);
    if (!claim.claimed) throw new Error("not claimed");
    const now = (): bigint => nanoseconds(clock.monotonicNow());
    const network = scene.worker("thread").network;
    const renewals = new ThreadRenewals(new RecordStore(network.store, "tool-call"), clock, now);
    const validUntil = new BigInt64Array(new SharedArrayBuffer(8));
    Atomics.store(validUntil, 0, now() + nanoseconds(9000));
    const if_match = { fields: { claim_id: "A-1", status: "pending" } };
    const write: ThreadHold["write"] = {
      op: "patch",
      transition: "renew",
      merge: { renewed_at: "" },
      ttl: 3609,
      if_match,
    };
    const renewUntil = now() + nanoseconds(30_000);
    renewals.obey({ order: "hold", hold: { id: 1, key: claim.key, write, holdMs: 9000, renewUntil, validUntil } });
    const leftMs = (): number => Number(Atomics.load(validUntil, 0) - now()) / 1e6;
    return { calls, claim, network, renewals, leftMs };
  }

  it("renews before a third of the hold is over, and says until when the claim holds", async () => {
    const scene = await openScene();
    const { network, leftMs, calls } = await held(scene);
    await scene.advance(2.6);
    expect(network.sent).toEqual([]);
    await scene.advance(0.2);
    expect(network.sent).toEqual(["renew"]);
    expect(leftMs()).toBeGreaterThan(8800);
    const renewedAt = (await calls.get(compute))?.fields.renewed_at ?? "";
    expect(scene.clock.wallNow() - Date.parse(renewedAt)).toBeLessThan(200);
  });

  it("counts from before the request when its answer is late, and not at all when there is none", async () => {
    const scene = await openScene();
    const { network, leftMs } = await held(scene);
    network.fault("renew", "held");
    await scene.advance(5);
    expect(leftMs()).toBeLessThan(4100);
    network.deliver();
    await settled();
    expect(leftMs()).toBeGreaterThan(6000);
    expect(leftMs()).toBeLessThan(7000);
    network.down = true;
    await scene.advance(8);
    expect(leftMs()).toBeLessThan(0);
  });

  it("lets go of a claim that has ended, that somebody else has, or whose tool has run for too long", async () => {
    const scene = await openScene();
    const ended = await held(scene);
    ended.renewals.obey({ order: "end", id: 1 });
    await scene.advance(5);
    expect([ended.network.sent, ended.renewals.size]).toEqual([[], 0]);
    await ended.claim.complete("done");
    await ended.calls.forget(compute);
    const settledByHolder = await held(scene);
    await settledByHolder.claim.complete("done");
    await scene.advance(5);
    expect([settledByHolder.network.sent, settledByHolder.renewals.size]).toEqual([["renew"], 0]);
    expect(settledByHolder.leftMs()).toBeLessThan(4100);
    await settledByHolder.calls.forget(compute);
    const tooLong = await held(scene);
    await scene.advance(35);
    const sent = tooLong.network.sent.length;
    expect(sent).toBeGreaterThan(5);
    expect(tooLong.renewals.size).toBe(0);
    await scene.advance(35);
    expect(tooLong.network.sent).toHaveLength(sent);
    await tooLong.claim.complete("late");
  });
});
