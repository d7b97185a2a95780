import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** What a child can do. Inputs and results cross a process boundary as structured clones. */
export type ChildMethods = { readonly [name: string]: (input: never) => unknown };

/**
 * A part of a benchmark in a process of its own: its memory, its garbage and its event loop are nobody else's. The parent
 * calls the child's methods by name, one at a time.
 */
export interface BenchChild<Methods extends ChildMethods> {
  call<Name extends keyof Methods & string>(
    name: Name,
    input: Parameters<Methods[Name]>[0],
  ): Promise<Awaited<ReturnType<Methods[Name]>>>;
  /** Calls nothing any more and waits for the end of the process. Rejects when it did not end with code 0. */
  stop(): Promise<void>;
}

interface Call {
  readonly name: string;
  readonly input: unknown;
}

type Answer = { readonly result: unknown } | { readonly error: unknown };

/**
 * Starts a child from a TypeScript module that calls `serveParent`.
 *
 * @param module such as `new URL("./child.ts", import.meta.url)`
 */
export function startChild<Methods extends ChildMethods>(
  module: URL,
  options: {
    readonly args?: readonly string[];
    readonly execArgv?: readonly string[];
    /** Added to the environment of this process. */
    readonly env?: { readonly [name: string]: string };
  } = {},
): BenchChild<Methods> {
  const { args = [], execArgv = [], env = {} } = options;
  const child = fork(fileURLToPath(module), [...args], {
    execArgv: ["--import", "tsx", ...execArgv],
    env: { ...process.env, ...env },
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const failed = ended.then(([code, signal]): never => {
    throw new Error(`a process of the benchmark ended with ${signal ?? `code ${code}`}`);
  });
  // Who asks hears of it; until then it is nobody's unhandled rejection.
  failed.catch(() => {});
  return {
    async call<Name extends keyof Methods & string>(
      name: Name,
      input: Parameters<Methods[Name]>[0],
    ): Promise<Awaited<ReturnType<Methods[Name]>>> {
      const answered = once(child, "message") as Promise<[Answer]>;
      child.send({ name, input } satisfies Call);
      const [answer] = await Promise.race([answered, failed]);
      if ("error" in answer) throw answer.error;
      return answer.result as Awaited<ReturnType<Methods[Name]>>;
    },
    async stop() {
      if (child.connected) child.disconnect();
      const [code] = await ended;
      if (code !== 0) await failed;
    },
  };
}

/**
 * Answers the parent's calls, in the child. When the parent lets go, or has died, `end` closes what the methods have
 * opened, and the process ends.
 */
export function serveParent(methods: ChildMethods, end: () => Promise<void>): void {
  process.on("message", ({ name, input }: Call) => {
    void answerOf(methods, name, input).then((answer) => process.send?.(answer));
  });
  process.once("disconnect", () => {
    end().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  // An interrupt reaches the whole process group; it is the parent that decides when its children end.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
}

async function answerOf(methods: ChildMethods, name: string, input: unknown): Promise<Answer> {
  try {
    const method = methods[name];
    if (method === undefined) throw new Error(`a process of the benchmark has no ${name}`);
    return { result: await method(input as never) };
  } catch (error) {
    return { error };
  }
}
