import { describe, expect, expectTypeOf, it } from "vitest";
import type { JsonValue } from "../../src/documents/contract.js";
import type { Claim, NotClaimed, ToolCall, ToolCallOutcome, ToolCallRequest } from "../../src/tool-calls/index.js";
import { openScene } from "./scene.js";

/* What the compiler makes of calls; that `tsc` accepts this file is half of each test. */

/** An interface, which TypeScript gives no index signature. */
interface Mail {
  order: number;
  to: string;
}

interface Token {
  readonly text: string;
}

const mail: Mail = { order: 7, to: "ana@example.com" };

async function* writeReport(): AsyncGenerator<string> {
  yield "on";
  yield "ce";
}

async function* writeTokens(): AsyncGenerator<Token> {
  yield { text: "on" };
  yield { text: "ce" };
}

async function openCalls() {
  const { worker } = await openScene();
  return worker("A").calls;
}

describe("the types of a call", () => {
  it("give the arguments as they are to the key function and to the tool", async () => {
    const calls = await openCalls();
    const outcome = await calls.run(
      {
        tool: "send_email",
        args: mail,
        key: (args) => {
          expectTypeOf(args).toEqualTypeOf<Mail>();
          return `order-${args.order}`;
        },
      },
      async (call) => {
        expectTypeOf(call).toEqualTypeOf<ToolCall<Mail>>();
        return call.args.order;
      },
    );
    expectTypeOf(outcome).toEqualTypeOf<ToolCallOutcome<number>>();
    expect(outcome).toMatchObject({ result: 7, key: "send_email:order-7" });
  });

  it("give the arguments of a literal, and JSON for arguments that are unknown", async () => {
    const calls = await openCalls();
    await calls.run({ tool: "pay", args: { amount: 10 } }, (call) => {
      expectTypeOf(call.args).toEqualTypeOf<{ amount: number }>();
    });
    const parsed: unknown = JSON.parse('{"amount":11}');
    const byKey = (args: JsonValue): string => JSON.stringify(args);
    const request: ToolCallRequest = { tool: "pay", args: parsed, key: byKey };
    const { key } = await calls.run(request, (call) => {
      expectTypeOf(call).toEqualTypeOf<ToolCall>();
      expectTypeOf(call.args).toEqualTypeOf<JsonValue>();
    });
    expect(key).toBe('pay:{"amount":11}');
  });

  it("accept a tool that says what arguments it takes, and refuse one that takes others", async () => {
    const calls = await openCalls();
    const send = async ({ args }: ToolCall<Mail>): Promise<string> => `to ${args.to}`;
    const { result } = await calls.run({ tool: "send_email", args: mail }, send);
    expectTypeOf(result).toEqualTypeOf<string>();
    // @ts-expect-error These are not the arguments of a mail.
    const replay = calls.run({ tool: "send_email", args: { order: 7 } }, send);
    expect(await replay).toMatchObject({ result: "to undefined" });
    expect(result).toBe("to ana@example.com");
  });

  it("carry the arguments through a claim, and name the call by the same request everywhere", async () => {
    const calls = await openCalls();
    const request = { tool: "send_email", args: mail, key: (args: Mail) => `order-${args.order}` };
    const claim = await calls.claim(request);
    expectTypeOf(claim).toEqualTypeOf<Claim<Mail> | NotClaimed>();
    if (!claim.claimed) throw new Error("nobody else is here");
    expect(claim.args.to).toBe("ana@example.com");
    const done = await claim.complete({ sent: true });
    expectTypeOf(done).toEqualTypeOf<ToolCallOutcome<{ sent: boolean }>>();
    expect(await calls.wait(request)).toMatchObject({ key: calls.keyOf(request), result: { sent: true } });
    expect(await calls.get(request)).toBeDefined();
    expect(await calls.forget(request)).toBe(true);
  });
});

describe("the types of a stream", () => {
  it("make the last chunk the result, and give each chunk to the listener", async () => {
    const calls = await openCalls();
    const shown: string[] = [];
    const { result } = await calls.run(
      {
        tool: "write_report",
        args: mail,
        onChunk: (chunk) => {
          expectTypeOf(chunk).toEqualTypeOf<string>();
          shown.push(chunk);
        },
      },
      writeReport,
    );
    expectTypeOf(result).toEqualTypeOf<string>();
    expect([shown, result]).toEqual([["on", "ce"], "ce"]);
  });

  it("make what collect returns the result", async () => {
    const calls = await openCalls();
    const show = (chunk: string): void => expect(chunk).toHaveLength(2);
    const { result } = await calls.run(
      { tool: "write_report", args: mail, onChunk: show, collect: (text, chunk) => (text ?? "") + chunk },
      writeReport,
    );
    expectTypeOf(result).toEqualTypeOf<string>();
    expect(result).toBe("once");
  });

  it("let collect make another type than that of the chunks, if it says which", async () => {
    const calls = await openCalls();
    const { result } = await calls.run(
      {
        tool: "write_report",
        args: mail,
        onChunk: (chunk) => {
          expectTypeOf(chunk).toEqualTypeOf<Token>();
        },
        collect: (text: string | undefined, chunk) => {
          expectTypeOf(chunk).toEqualTypeOf<Token>();
          return (text ?? "") + chunk.text;
        },
      },
      writeTokens,
    );
    expectTypeOf(result).toEqualTypeOf<string>();
    expect(result).toBe("once");
  });

  it("follow an inline tool that uses its call, if the listener or collect says what a chunk is", async () => {
    const calls = await openCalls();
    const last = await calls.run(
      { tool: "count", args: mail, onChunk: (chunk: number) => expect(chunk).toBe(7) },
      async function* (call) {
        yield call.args.order;
      },
    );
    expectTypeOf(last.result).toEqualTypeOf<number>();
    const collected = await calls.run(
      { tool: "list", args: mail, collect: (all: string[] | undefined, chunk: number) => [...(all ?? []), `${chunk}`] },
      async function* (call) {
        yield call.args.order;
      },
    );
    expectTypeOf(collected.result).toEqualTypeOf<string[]>();
    expect([last.result, collected.result]).toEqual([7, ["7"]]);
  });

  it("are the same where the chunks are read", async () => {
    const calls = await openCalls();
    const plain = calls.stream({ tool: "count", args: mail }, async function* (call) {
      expectTypeOf(call.args).toEqualTypeOf<Mail>();
      yield call.args.order;
    });
    expectTypeOf(plain).toEqualTypeOf<AsyncGenerator<number, ToolCallOutcome<number>>>();
    const collected = calls.stream(
      {
        tool: "write_report",
        args: mail,
        collect: (length: number | undefined, chunk) => (length ?? 0) + chunk.length,
      },
      writeReport,
    );
    expectTypeOf(collected).toEqualTypeOf<AsyncGenerator<string | number, ToolCallOutcome<number>>>();
    for await (const chunk of plain) expect(chunk).toBe(7);
    for await (const chunk of collected) expect(chunk).toHaveLength(2);
  });
});
