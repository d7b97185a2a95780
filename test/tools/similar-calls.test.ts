import { describe, expect, it } from "vitest";
import { guardTool, type SimilarCall, similarCalls } from "../../src/tools/index.js";
import { openScene, outcomeOf, settled } from "../tool-calls/scene.js";
import { Gate, Mailbox } from "./tool-scene.js";

const hi = { to: "ann@example.com", subject: "hi" };
const hello = { ...hi, subject: "hello there" };
const targetOf = ({ to }: { to?: string }) => to;

/** A guarded mailbox whose similar calls are heard of. */
async function watched(onSimilar: (similar: SimilarCall) => void | Promise<void> = () => {}) {
  const scene = await openScene();
  const { calls, network } = scene.worker("A");
  const heard: SimilarCall[] = [];
  const similar = similarCalls({
    store: network.store,
    targetOf,
    onSimilar: (call) => {
      heard.push(call);
      return onSimilar(call);
    },
  });
  const box = new Mailbox();
  return { ...scene, network, heard, box, similar, calls, execute: guardTool(box.tool, calls, { similar }).execute };
}

describe("a call to the same target within a minute of a success", () => {
  it("is told of before it is made, and then made: it is another call, and no duplicate", async () => {
    const { execute, heard, box, advance, clock, calls } = await watched();
    const calledAt = new Date(clock.wallNow()).toISOString();
    await execute(hi, { scope: "turn-1" });
    expect(heard).toEqual([]);
    await advance(20);
    expect(await execute(hello, { scope: "turn-2" })).toMatchObject({ was_replay: false });
    const [, keyOfHello] = box.sent.map(({ key }) => key);
    expect(heard).toEqual([
      {
        tool: "send_email",
        target: hi.to,
        args: { ...hello, urgent: false },
        key: keyOfHello,
        options: { scope: "turn-2" },
        earlier: {
          key: calls.keyOf({ tool: "send_email", args: { ...hi, urgent: false }, scope: "turn-1" }),
          called_at: calledAt,
          seconds_ago: 20,
        },
      },
    ]);
    expect(box.sent).toHaveLength(2);
  });

  it("is not made when the hook throws, and nothing is claimed", async () => {
    const { execute, box, store } = await watched(() => {
      throw new Error("the user said no");
    });
    await execute(hi, { scope: "turn-1" });
    expect(await outcomeOf(execute(hello, { scope: "turn-2" }))).toMatchObject({ message: "the user said no" });
    expect(box.sent).toHaveLength(1);
    expect((await store.list("tool-call")).documents).toHaveLength(1);
  });

  it("waits for the hook to be answered", async () => {
    const gate = new Gate();
    const { execute, box } = await watched(() => gate.opened);
    await execute(hi, { scope: "turn-1" });
    const asking = execute(hello, { scope: "turn-2" });
    await settled();
    expect(box.sent).toHaveLength(1);
    gate.open();
    await asking;
    expect(box.sent).toHaveLength(2);
  });
});

describe("nobody is told", () => {
  it("of a retry, also when another call to the target came between", async () => {
    const { execute, heard } = await watched();
    await execute(hi, { scope: "turn-1" });
    expect(await execute(hi, { scope: "turn-1" })).toMatchObject({ was_replay: true });
    expect(heard).toEqual([]);
    await execute(hello, { scope: "turn-2" });
    expect(await execute(hi, { scope: "turn-1" })).toMatchObject({ was_replay: true });
    expect(heard).toHaveLength(1);
  });

  it("of another target, after a minute, after a failure, or where there is no target", async () => {
    const { execute, heard, box, advance } = await watched();
    box.afterwards = () => Promise.reject(Object.assign(new Error("no such mailbox"), { outcome: "failed" }));
    await outcomeOf(execute(hi, { scope: "turn-1" }));
    box.afterwards = async () => {};
    await execute(hello, { scope: "turn-2" });
    await execute({ ...hi, to: "bob@example.com" }, { scope: "turn-3" });
    await advance(61);
    await execute(hi, { scope: "turn-4" });
    expect(heard).toEqual([]);
  });

  it("twice by replays: a replay notes nothing", async () => {
    const { execute, heard, advance } = await watched();
    await execute(hi, { scope: "turn-1" });
    await advance(50);
    await execute(hi, { scope: "turn-1" });
    await advance(20);
    await execute(hello, { scope: "turn-2" });
    expect(heard).toEqual([]);
  });

  it("when the store cannot be asked, and the call goes on to what the store says to its claim", async () => {
    const { execute, heard, network, box } = await watched();
    await execute(hi, { scope: "turn-1" });
    network.down = true;
    expect(await outcomeOf(execute(hello, { scope: "turn-2" }))).toMatchObject({ code: "unavailable" });
    expect(heard).toEqual([]);
    expect(box.sent).toHaveLength(1);
  });
});

describe("the notes", () => {
  it("name nobody, and end by themselves", async () => {
    const { execute, store, advance } = await watched();
    await execute(hi, { scope: "turn-1" });
    const { documents } = await store.list("similar-call");
    expect(documents).toHaveLength(1);
    expect(documents[0]?.id).toMatch(/^send_email:[0-9a-f]{64}$/);
    await advance(61);
    expect((await store.list("similar-call")).documents).toEqual([]);
  });

  it("that cannot be written take nothing from the call", async () => {
    const { execute, box, network, heard } = await watched();
    // The faulty way to the store names writes by their status, and a note has none.
    network.fault("undefined", "overloaded");
    expect(await execute(hi, { scope: "turn-1" })).toMatchObject({ was_replay: false });
    expect(network.sent).toContain("undefined");
    expect(await execute(hello, { scope: "turn-2" })).toMatchObject({ was_replay: false });
    expect(heard).toEqual([]);
    expect(box.sent).toHaveLength(2);
  });

  it("are not tried when the outcome itself could not be stored", async () => {
    const { execute, box, network } = await watched();
    box.afterwards = async () => {
      network.down = true;
    };
    expect(await execute(hi, { scope: "turn-1" })).toMatchObject({ result: { message: 1 } });
    expect(network.sent).not.toContain("undefined");
  });

  it("are watched for by options that are judged", async () => {
    const { store } = await openScene();
    const good = { store, targetOf, onSimilar: () => {} };
    const wrong: readonly [object, string][] = [
      [{ within: 0 }, "within"],
      [{ within: "60" }, "within"],
      [{ targetOf: undefined }, "targetOf"],
      [{ onSimilar: "warn" }, "onSimilar"],
      [{ shape: "Notes" }, "shape"],
      [{ window: 60 }, "window"],
    ];
    for (const [members, path] of wrong) {
      expect(() => similarCalls({ ...good, ...members } as never)).toThrow(expect.objectContaining({ path }));
    }
  });
});
