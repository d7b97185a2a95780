import { Client as ClientTwo, InMemoryTransport as TransportTwo } from "@modelcontextprotocol/client";
import { Client as ClientOne } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as TransportOne } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as ServerOne } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer as ServerTwo } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import type { z } from "zod";
import type { McpServerLike, McpToolResult } from "../../client/adapters/mcp/index.js";
import type { ToolAnnotations } from "../../src/tools/index.js";

/** What a tool is registered with, in either generation. */
export interface ToolConfig {
  readonly description?: string;
  readonly inputSchema?: z.ZodType;
  readonly outputSchema?: z.ZodType;
  readonly annotations?: ToolAnnotations;
}

/** A tool's function: `(args, context)`, or `(context)` where it takes no arguments. */
export type Handler = (...received: never[]) => unknown;

export interface Registered {
  handler: unknown;
  update(updates: { readonly [name: string]: unknown }): void;
  remove(): void;
}

/** A server as the tests see it. */
export interface TestServer {
  readonly server: McpServerLike;
  register(name: string, config: ToolConfig, handler: Handler): Registered;
}

/** A result as it arrived at the client. */
export interface ArrivedResult extends McpToolResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
}

export interface CallDetails {
  readonly meta?: { readonly [name: string]: unknown };
  /** Milliseconds after which the client no longer waits. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export interface ListedTool {
  readonly name: string;
  readonly inputSchema: {
    readonly properties?: { readonly [name: string]: { readonly description?: string } };
    readonly required?: readonly string[];
  };
}

/** A client in a session of its own, whose requests are numbered from the beginning. */
export interface TestClient {
  call(name: string, args?: { readonly [name: string]: unknown }, details?: CallDetails): Promise<ArrivedResult>;
  list(): Promise<readonly ListedTool[]>;
}

export interface Auth {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: string[];
  readonly extra?: { [name: string]: unknown };
}

/** One of the two generations of the SDK, server and client of it. */
export interface Generation {
  readonly name: string;
  makeServer(options?: { readonly name?: string; readonly capabilities?: { readonly tools?: object } }): TestServer;
  /** @param auth who the transport says is calling */
  connect(server: TestServer, auth?: Auth): Promise<TestClient>;
}

const info = { name: "test", version: "1.0.0" };

const one: Generation = {
  name: "SDK 1",
  makeServer({ name = info.name, ...options } = {}) {
    const server = new ServerOne({ ...info, name }, options);
    return {
      server,
      register: (name, config, handler) => server.registerTool(name, config as never, handler as never) as Registered,
    };
  },
  async connect({ server }, auth) {
    const [clientSide, serverSide] = TransportOne.createLinkedPair();
    withAuth(clientSide, auth);
    await (server as ServerOne).connect(serverSide);
    const client = new ClientOne(info);
    await client.connect(clientSide);
    onTestFinished(() => client.close());
    return {
      async call(name, args, { meta, ...options } = {}) {
        return (await client.callTool(paramsOf(name, args, meta), undefined, options)) as ArrivedResult;
      },
      list: async () => (await client.listTools()).tools as readonly ListedTool[],
    };
  },
};

const two: Generation = {
  name: "SDK 2",
  makeServer({ name = info.name, ...options } = {}) {
    const server = new ServerTwo({ ...info, name }, options);
    return {
      server,
      register: (name, config, handler) => server.registerTool(name, config as never, handler as never) as Registered,
    };
  },
  async connect({ server }, auth) {
    const [clientSide, serverSide] = TransportTwo.createLinkedPair();
    withAuth(clientSide, auth);
    await (server as ServerTwo).connect(serverSide);
    const client = new ClientTwo(info);
    await client.connect(clientSide);
    onTestFinished(() => client.close());
    return {
      async call(name, args, { meta, ...options } = {}) {
        return (await client.callTool(paramsOf(name, args, meta), options)) as ArrivedResult;
      },
      list: async () => (await client.listTools()).tools as readonly ListedTool[],
    };
  },
};

export const generations: readonly Generation[] = [one, two];

function paramsOf(
  name: string,
  args: { readonly [name: string]: unknown } | undefined,
  meta: { readonly [name: string]: unknown } | undefined,
): { name: string; arguments?: { [name: string]: unknown }; _meta?: { [name: string]: unknown } } {
  return {
    name,
    ...(args === undefined ? {} : { arguments: { ...args } }),
    ...(meta === undefined ? {} : { _meta: { ...meta } }),
  };
}

/** Transports in memory take from the sender who it is, in the place of the HTTP server in front. */
function withAuth(transport: { send(message: never, options?: never): Promise<void> }, auth: Auth | undefined): void {
  if (auth === undefined) return;
  const send = transport.send.bind(transport);
  transport.send = (message, options) => send(message, { ...(options as object | undefined), authInfo: auth } as never);
}
