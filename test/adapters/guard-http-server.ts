import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { Gate } from "../tools/tool-scene.js";

/** What a request looked like on its way in. */
export interface SeenRequest {
  readonly httpMethod: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body: string;
}

/** A server over HTTP that speaks every version of the protocol, and counts its effects. */
export class HttpScene {
  readonly sent: string[] = [];
  readonly requests: SeenRequest[] = [];
  /** With a status, the next request is answered by it alone. */
  nextStatus: number | undefined;
  /** With an id, that of a session which clients are told of. */
  session: string | undefined;
  /** Awaited by each call after its effect. */
  afterwards: () => Promise<void> = async () => {};
  readonly #server: Server;
  readonly #handler = createMcpHandler(() => this.#makeServer());

  static async start(): Promise<HttpScene> {
    const scene = new HttpScene();
    scene.#server.listen(0, "127.0.0.1");
    await once(scene.#server, "listening");
    return scene;
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  /** Breaks all connections. */
  break(): void {
    this.#server.closeAllConnections();
  }

  async stop(): Promise<void> {
    await this.#handler.close();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #makeServer(): McpServer {
    const server = new McpServer({ name: "mails", version: "1" });
    const inputSchema = z.object({ to: z.string().meta({ "x-mcp-header": "Recipient" }) });
    server.registerTool("send_mail", { inputSchema }, async ({ to }) => {
      this.sent.push(to);
      await this.afterwards();
      return { content: [{ type: "text", text: `sent to ${to}` }] };
    });
    server.registerTool("get_status", { annotations: { readOnlyHint: true } }, () => ({
      content: [{ type: "text", text: "all is well" }],
    }));
    return server;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { method = "", headers } = request;
    this.requests.push({ httpMethod: method, headers, body: body.toString("utf8") });
    const status = this.nextStatus;
    if (status !== undefined && body.includes("tools/call")) {
      this.nextStatus = undefined;
      response.writeHead(status).end("not now");
      return;
    }
    const plain = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
    const answer = await this.#handler.fetch(
      new Request(this.url, { method, headers: plain, ...(method === "POST" ? { body } : {}) }),
    );
    if (this.session !== undefined) response.setHeader("mcp-session-id", this.session);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else
      Readable.fromWeb(answer.body as never)
        .on("error", () => response.destroy())
        .pipe(response);
  }
}

/** A gate through which calls go after their effects, once. */
export function holdAfterwards(scene: HttpScene): { readonly gate: Gate; readonly reached: Promise<void> } {
  const gate = new Gate();
  const reached = new Gate();
  scene.afterwards = async () => {
    reached.open();
    await gate.opened;
  };
  return { gate, reached: reached.opened };
}
