import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ServerBounds } from "../../server/index.js";
import { type Answer, type SentRequest, send } from "../server/http.js";
import { ask, kill } from "../torture/processes.js";
import type { ClosedServer, LoadedMessage, MeasuredProcess } from "./loaded-process.js";

/** Numbers of a server about itself, as `/v1/stats` tells them. */
export interface ServerNumbers {
  readonly waits: number;
  readonly streams: number;
  readonly requests: number;
  readonly held_bytes: number;
  readonly waiting_event_bytes: number;
}

/** A server in a process of its own, and what it is like from outside. */
export class LoadedServer {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #sockets = new Set<Socket>();

  private constructor(child: ChildProcess, folder: string, port: number) {
    this.#child = child;
    this.#folder = folder;
    this.port = port;
  }

  /** @param leakedBytes of each connection, which the server never gives back: 0 but where the checks themselves are tried */
  static async start(bounds: ServerBounds, leakedBytes = 0): Promise<LoadedServer> {
    const folder = await mkdtemp(join(tmpdir(), "oncekv-overload-"));
    const child = fork(fileURLToPath(new URL("loaded-process.ts", import.meta.url)), [], {
      execArgv: ["--expose-gc", "--max-old-space-size=1024", "--import", "tsx"],
      serialization: "advanced",
    });
    const open: LoadedMessage = { kind: "open", dataDir: join(folder, "data"), bounds, leakedBytes };
    const { port } = await ask<{ port: number }>(child, open);
    return new LoadedServer(child, folder, port);
  }

  /** Begins to take the measure of the most memory. */
  mark(): Promise<MeasuredProcess> {
    return ask(this.#child, { kind: "mark" } satisfies LoadedMessage);
  }

  measure(): Promise<MeasuredProcess> {
    return ask(this.#child, { kind: "measure" } satisfies LoadedMessage);
  }

  /** Drains the server and closes its store; the process stays. */
  close(): Promise<ClosedServer> {
    return ask(this.#child, { kind: "close" } satisfies LoadedMessage);
  }

  request(method: string, path: string, options: Omit<SentRequest, "method" | "path"> = {}): Promise<Answer> {
    return send(this.port, { method, path, ...options });
  }

  /** A connection that is closed with the server; its errors are of no interest. */
  connect(): Socket {
    const socket = connect(this.port, "127.0.0.1");
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => {});
    return socket;
  }

  /** What the server counts. */
  async numbers(): Promise<ServerNumbers> {
    const { json } = await this.request("GET", "/v1/stats");
    return (json as { server: ServerNumbers }).server;
  }

  /** One metric without labels. */
  async metric(name: string): Promise<number> {
    const { text } = await this.request("GET", "/metrics");
    const value = new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1];
    if (value === undefined) throw new Error(`there is no metric ${name}`);
    return Number(value);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await kill(this.#child);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Asks again until the answer will do; a minute later it never will. */
export async function eventually<T>(what: string, look: () => Promise<T>, willDo: (found: T) => boolean): Promise<T> {
  const end = performance.now() + 60_000;
  for (;;) {
    const found = await look();
    if (willDo(found)) return found;
    if (performance.now() > end) throw new Error(`${what}: not within a minute: ${JSON.stringify(found)}`);
    await delay(20);
  }
}
