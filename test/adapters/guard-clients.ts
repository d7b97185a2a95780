import { fileURLToPath } from "node:url";
import { Client as NewClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as NewTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { commandLineOf } from "../../bench/package-code.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const command = await commandLineOf("built").catch(() => commandLineOf("sources"));

/** A server of the protocol's own package, as the command that starts it. */
export function packagedServer(name: "everything" | "filesystem" | "memory", ...args: string[]): readonly string[] {
  const file = new URL(`node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url);
  return [process.execPath, fileURLToPath(file), ...args];
}

/** What a client's transport is told to start. */
export function guardProcess(
  args: readonly string[],
  env: { readonly [name: string]: string } = {},
): { command: string; args: string[]; cwd: string; env: { [name: string]: string }; stderr: "pipe" } {
  return {
    command: process.execPath,
    args: [...command, "guard", ...args],
    cwd: root,
    env: { ...env },
    stderr: "pipe",
  };
}

/** What the tests use of either client. */
export interface AnyClient {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(params: {
    name: string;
    arguments?: { [name: string]: unknown };
    _meta?: { [name: string]: unknown };
  }): Promise<{ [name: string]: unknown }>;
  close(): Promise<void>;
}

/** The clients of both generations of the protocol's package. */
export const generations: readonly {
  readonly generation: string;
  readonly connect: (args: readonly string[], env?: { readonly [name: string]: string }) => Promise<AnyClient>;
}[] = [
  {
    generation: "v1",
    connect: async (args, env) => {
      const client = new OldClient({ name: "test", version: "1" });
      await client.connect(new OldTransport(guardProcess(args, env)));
      return client;
    },
  },
  {
    generation: "v2",
    connect: async (args, env) => {
      const client = new NewClient({ name: "test", version: "1" });
      await client.connect(new NewTransport(guardProcess(args, env)));
      return client;
    },
  },
];

/** The texts of a result. */
export function textsOf(result: { readonly [name: string]: unknown }): readonly string[] {
  const content = result["content"] as readonly { readonly text?: string }[];
  return content.map(({ text = "" }) => text);
}

/** What the guard says about a result. */
export function marksOf(result: { readonly [name: string]: unknown }): { readonly [name: string]: unknown } {
  const meta = (result["_meta"] ?? {}) as { readonly [name: string]: unknown };
  return Object.fromEntries(Object.entries(meta).filter(([name]) => name.startsWith("oncekv/")));
}
