import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, guardTool, guardTools } from "../../src/tools/index.js";
import { openScene, outcomeOf, SlowTool, settled } from "../tool-calls/scene.js";
import { Gate, Mailbox } from "./tool-scene.js";

describe("work of many calls that was broken off half way", () => {
  it("is gone on with: leaves that are done keep what they came to, and only the others are fired again", async () => {
    const { worker, advance } = await openScene();
    const slow = new SlowTool();
    const asked: number[] = [];
    const painter = defineTool({
      name: "generate_picture",
      args: z.object({ leaf: z.number() }),
      effect: "writes",
      policy: "refire",
      times: { pendingTtl: 30 },
      execute: ({ leaf }, call) => {
        asked.push(leaf);
        return slow.run(call);
      },
    });
    const fanOut = (name: string) => {
      const at = worker(name);
      const { execute } = guardTool(painter, at.calls, { scope: "run-1" });
      return { ...at, leaves: [1, 2, 3, 4].map((leaf) => outcomeOf(execute({ leaf }))) };
    };
    const first = fanOut("A");
    await settled();
    slow.end(0, "a cat");
    slow.end(2, "a dog");
    await settled();
    first.network.down = true;
    await advance(31);
    const second = fanOut("B");
    await settled();
    expect(asked).toEqual([1, 2, 3, 4, 2, 4]);
    // What the first fires come to now is another picture, and too late.
    for (const fire of [1, 3]) slow.end(fire, "too late");
    first.network.down = false;
    await settled();
    slow.end(4, "a bird");
    slow.end(5, "a fish");
    expect(await Promise.all(second.leaves)).toMatchObject([
      { result: "a cat", was_replay: true },
      { result: "a bird", was_replay: false },
      { result: "a dog", was_replay: true },
      { result: "a fish", was_replay: false },
    ]);
    for (const fire of [1, 3]) expect(await first.leaves[fire]).toMatchObject({ code: "claim_lost" });
    const third = await Promise.all(fanOut("C").leaves);
    expect(third.map((leaf) => "result" in leaf && leaf.result)).toEqual(["a cat", "a bird", "a dog", "a fish"]);
    expect(asked).toHaveLength(6);
  });

  it("fires a sibling once, however often the step is resumed for the one that waits for a person", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    let approved = false;
    let transfers = 0;
    const transfer = {
      name: "transfer",
      execute: async () => {
        if (!approved) throw Object.assign(new Error("approve?"), { name: "GraphInterrupt" });
        return ++transfers;
      },
    };
    const step = async (name: string) => {
      const tools = guardTools({ mail: box.tool, transfer }, worker(name).calls, { scope: "step-1" });
      const mail = outcomeOf(tools.mail.execute({ to: "ann@example.com", subject: "hi" }));
      return Promise.all([mail, outcomeOf(tools.transfer.execute({ amount: 1 }))]);
    };
    for (const name of ["A", "B"]) {
      expect(await step(name)).toMatchObject([
        { result: { message: 1 }, was_replay: name === "B" },
        { message: "approve?" },
      ]);
    }
    approved = true;
    expect(await step("C")).toMatchObject([{ was_replay: true }, { result: 1, was_replay: false }]);
    expect(await step("D")).toMatchObject([{ was_replay: true }, { result: 1, was_replay: true }]);
    expect([box.sent.length, transfers]).toEqual([1, 1]);
  });

  it("has each of its effects once, when a step is cut off again and again after so much time", async () => {
    const { worker, advance } = await openScene();
    const box = new Mailbox();
    const days = ["mon", "tue", "wed"];
    const report = async (name: string) => {
      const at = worker(name);
      const { execute } = guardTool(box.tool, at.calls, { scope: "weekly-report" });
      let fresh = 0;
      for (const day of days) {
        const { was_replay } = await execute({ to: "ann@example.com", subject: day });
        if (!was_replay) fresh += 1;
        // The process is ended here, without a word, and its scheduler begins the whole step anew.
        if (fresh === 1) {
          at.network.down = true;
          return "cut off";
        }
      }
      return "done";
    };
    const ends: string[] = [];
    for (const name of ["A", "B", "C", "D"]) {
      ends.push(await report(name));
      await advance(20);
    }
    expect(ends).toEqual(["cut off", "cut off", "cut off", "done"]);
    expect(box.sent.map(({ subject }) => subject)).toEqual(days);
  });
});

describe("a request to a server of tools", () => {
  it("that its client gave up and sent again has one effect, under the key that it brings, down to the service", async () => {
    const { worker } = await openScene();
    const gate = new Gate();
    /** The service behind the tool: who comes with the same header has meant the same mail. */
    const mails = new Map<string, string>();
    const tool = defineTool({
      name: "send_email",
      args: z.object({ to: z.string() }),
      effect: "irreversible",
      mechanism: "downstream_key",
      execute: async ({ to }, call) => {
        mails.set(call.headers["Idempotency-Key"], to);
        await gate.opened;
        return `mail ${mails.size}`;
      },
    });
    /** A handler as a server has it: the arguments are the model's, what is beside them is the client's. */
    const serve = (name: string) => {
      const { execute } = guardTool(tool, worker(name).calls);
      return (
        { params }: { id: number; params: { arguments: { to: string }; _meta?: { idempotencyKey?: string } } },
        signal?: AbortSignal,
      ) => execute(params.arguments, { key: params._meta?.idempotencyKey, signal });
    };
    const params = { arguments: { to: "ann" }, _meta: { idempotencyKey: "turn-7/1" } };
    const client = new AbortController();
    const first = outcomeOf(serve("A")({ id: 1, params }, client.signal));
    await settled();
    client.abort(new Error("no answer for 60 seconds"));
    const retry = serve("B")({ id: 2, params });
    await settled();
    gate.open();
    expect(await first).toMatchObject({ result: "mail 1", was_replay: false });
    expect(await retry).toMatchObject({ result: "mail 1", was_replay: true });
    expect([...mails]).toEqual([["send_email:turn-7/1", "ann"]]);
    const another = { ...params, _meta: { idempotencyKey: "turn-7/2" } };
    expect(await serve("A")({ id: 3, params: another })).toMatchObject({ result: "mail 2", was_replay: false });
    const drifted = { ...params, arguments: { to: "bob" } };
    expect(await outcomeOf(serve("A")({ id: 4, params: drifted }))).toMatchObject({ code: "idempotency_conflict" });
    const unkeyed = await outcomeOf(serve("A")({ id: 5, params: { arguments: { to: "ann" } } }));
    expect(unkeyed).toMatchObject({ code: "invalid_request", path: "scope" });
    expect(mails.size).toBe(2);
  });
});
