import { describe, expect, test } from "vitest";
import { SeededRandom } from "../crash/seeded-random.js";
import { runCli } from "./command-line.js";
import { commandLineTrial, type RunLine } from "./command-line-trial.js";

test("whatever a command line says, it ends with a documented code, and a refused one leaves everything as it was", async () => {
  for (const seed of [new SeededRandom().seed]) {
    const counts = await commandLineTrial().run(new SeededRandom(seed));
    expect(counts["refused"], `seed ${seed}`).toBeGreaterThanOrEqual(20);
    expect(counts["puts compared"], `seed ${seed}`).toBeGreaterThanOrEqual(8);
  }
});

describe("the machinery finds a command line that", () => {
  const weakened: { readonly [what: string]: { readonly run: RunLine; readonly found: RegExp } } = {
    "ends with a code that nobody knows": {
      run: async (args, stdin) => {
        const ended = await runCli(args, stdin);
        return ended.code === 2 ? { ...ended, code: 64 } : ended;
      },
      found: /it ended with 64/,
    },
    "shows a stack": {
      run: async (args, stdin) => {
        const ended = await runCli(args, stdin);
        return ended.code === 2 ? { ...ended, stderr: `${ended.stderr}    at parse (file.js:1:2)\n` } : ended;
      },
      found: /what only a program understands/,
    },
    "passes an unknown option over": {
      run: (args, stdin) => {
        const known = args.filter((argument) => argument !== "--no-such-option");
        return known.length < args.length && !["serve", "watch", "guard"].includes(args[0] ?? "")
          ? runCli(known, stdin)
          : runCli(args, stdin);
      },
      found: /has the fault "an unknown option" and ended with [0134]/,
    },
    "writes although it is refused": {
      run: async (args, stdin) => {
        const ended = await runCli(args, stdin);
        const data = args[args.indexOf("--data") + 1] ?? "";
        if (ended.code === 2 && data.endsWith("data")) await runCli(["put", "note", "1", "{}", "--data", data]);
        return ended;
      },
      found: /it failed and changed something/,
    },
    "stores something else": {
      run: (args, stdin) =>
        runCli(
          args.map((argument) => (argument === '{"a":1}' ? '{"a":"1"}' : argument)),
          stdin,
        ),
      found: /it stored \{"a":"1"\}/,
    },
  };
  test.each(Object.entries(weakened))("%s", async (_, { run, found }) => {
    const pieces = async (): Promise<void> => {
      for (let seed = 0; seed < 20; seed++) await commandLineTrial(run).run(new SeededRandom(seed));
    };
    await expect(pieces()).rejects.toThrow(found);
  });
});
