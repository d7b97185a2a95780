import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { type Ended, ended, startCli } from "./command-line.js";

const serverFile = fileURLToPath(new URL("../adapters/fixtures/effects-server.mjs", import.meta.url));

/** A message, as a test looks at it. */
export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly [name: string]: unknown };
  readonly result?: {
    readonly content?: readonly { readonly text: string }[];
    readonly isError?: boolean;
    readonly _meta?: { readonly [name: string]: unknown };
    readonly [name: string]: unknown;
  };
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly [name: string]: unknown };
  };
}

/** A folder with a server's files and the records of its calls. */
export class GuardScene {
  readonly folder: string;
  readonly data: string;
  readonly #clients: RawClient[] = [];

  static async make(): Promise<GuardScene> {
    const root = await mkdtemp(join(tmpdir(), "oncekv-guard-"));
    await mkdir(join(root, "server"));
    return new GuardScene(root);
  }

  private constructor(readonly root: string) {
    this.folder = join(root, "server");
    this.data = join(root, "calls");
  }

  /** The command of the server. */
  get server(): readonly string[] {
    return [process.execPath, serverFile, this.folder];
  }

  /** The arguments of a guard in front of it. */
  guard(...options: string[]): string[] {
    return ["guard", "--data", this.data, ...options, "--", ...this.server];
  }

  /** A client that has said hello. */
  async connect(...options: string[]): Promise<RawClient> {
    const client = new RawClient(this.guard(...options));
    this.#clients.push(client);
    await client.hello();
    return client;
  }

  /** The lines of one of the server's files. */
  lines(name: string): readonly string[] {
    const file = join(this.folder, name);
    return existsSync(file)
      ? readFileSync(file, "utf8")
          .split("\n")
          .filter((line) => line !== "")
      : [];
  }

  get effects(): number {
    return this.lines("effects").length;
  }

  /** Waits until calls have reached their tools. */
  async entered(count: number): Promise<void> {
    await vi.waitFor(() => {
      if (this.lines("entered").length < count) throw new Error("not yet");
    }, 30_000);
  }

  hold(place: "before" | "after"): Promise<void> {
    return writeFile(join(this.folder, `hold-${place}`), "");
  }

  release(place: "before" | "after"): Promise<void> {
    return rm(join(this.folder, `hold-${place}`));
  }

  get serverPid(): number {
    return Number(readFileSync(join(this.folder, "pid"), "utf8"));
  }

  async remove(): Promise<void> {
    for (const client of this.#clients) await client.kill();
    await rm(this.root, { recursive: true, force: true });
  }
}

/** Speaks JSON-RPC with a process, line by line, without any package. */
export class RawClient {
  readonly child: ReturnType<typeof startCli>;
  readonly received: string[] = [];
  readonly end: Promise<Ended>;
  #begun = "";

  constructor(args: readonly string[], env: { readonly [name: string]: string } = {}) {
    this.child = startCli(args, env);
    this.child.stdin.on("error", () => {});
    this.end = ended(this.child);
    this.child.stdout.on("data", (chunk: string) => {
      const lines = (this.#begun + chunk).split("\n");
      this.#begun = lines.pop() ?? "";
      this.received.push(...lines);
    });
  }

  async hello(): Promise<void> {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    await this.ask("hello", "initialize", params);
    this.line({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  raw(text: string): void {
    this.child.stdin.write(text);
  }

  line(message: unknown): void {
    this.raw(`${JSON.stringify(message)}\n`);
  }

  get messages(): readonly Message[] {
    return this.received.map((line) => JSON.parse(line) as Message);
  }

  /** Waits for a message. */
  async until(found: (message: Message) => boolean): Promise<Message> {
    return vi.waitFor(() => {
      const message = this.messages.find(found);
      if (message === undefined) throw new Error(`not among ${this.received.join("\n")}`);
      return message;
    }, 50_000);
  }

  answerTo(id: number | string): Promise<Message> {
    return this.until((message) => message.id === id && message.method === undefined);
  }

  ask(id: number | string, method: string, params: unknown): Promise<Message> {
    this.line({ jsonrpc: "2.0", id, method, params });
    return this.answerTo(id);
  }

  call(id: number | string, name: string, args: unknown, more: object = {}): Promise<Message> {
    return this.ask(id, "tools/call", { name, arguments: args, ...more });
  }

  /** The client goes as the protocol has it. */
  close(): Promise<Ended> {
    this.child.stdin.end();
    return this.end;
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, "exit");
    this.child.kill(signal);
    // Not until its output closes: the server, which outlives a killed guard for a moment, writes to the same one.
    await exited;
  }
}
