import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request that reached the service, in the order of arrival. */
export interface Arrival {
  readonly key: string;
  /** The body as it came: what would be in the mail. */
  readonly content: string;
  readonly messageId: string;
  /** Whether a message went out. False: its key had been there before, and the first answer was given again. */
  readonly delivered: boolean;
}

/** Milliseconds that a message takes, so that calls overlap. */
const deliveryMs = 15;

/**
 * A stand-in for a mail service. Like many real ones it honours `Idempotency-Key`: a key that comes again sends no second
 * mail. It notes every arrival all the same, so that nobody can hide a second fire behind it.
 */
export class MailService {
  readonly arrivals: Arrival[] = [];
  readonly #sent = new Map<string, string>();
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<MailService> {
    const service = new MailService();
    await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let content = "";
    for await (const chunk of request.setEncoding("utf8")) content += chunk;
    const messageId = this.#accept(String(request.headers["idempotency-key"]), content);
    setTimeout(() => response.end(JSON.stringify({ message_id: messageId })), deliveryMs);
  }

  #accept(key: string, content: string): string {
    const earlier = this.#sent.get(key);
    const messageId = earlier ?? `message-${this.#sent.size + 1}`;
    this.#sent.set(key, messageId);
    this.arrivals.push({ key, content, messageId, delivered: earlier === undefined });
    return messageId;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
