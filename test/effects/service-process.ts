import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Arrival } from "./arrival.js";

/*
 * The service behind the tools, in a process of its own: has an effect for every request, and notes it in a file before it
 * answers. A request with an idempotency key has its effect once.
 */

let file = "";
const effects = new Map<string, number>();
let count = 0;

process.on("message", async (message: { readonly file: string }) => {
  file = message.file;
  for (const arrival of readArrivals(file)) note(arrival);
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
});
process.on("disconnect", () => process.exit(0));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  try {
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
  } catch {
    // It was cut before it had come whole: nothing is done.
    return;
  }
  const { key, token } = JSON.parse(body) as { readonly key: string; readonly token: number };
  const header = request.headers["idempotency-key"];
  const known = header === undefined ? undefined : effects.get(key);
  const arrival: Arrival = { key, token, receipt: known ?? count + 1, hasEffect: known === undefined };
  // One write, as a whole or not at all when the process is killed.
  appendFileSync(file, `${JSON.stringify(arrival)}\n`);
  note(arrival);
  response.end(JSON.stringify({ receipt: arrival.receipt }));
}

function note({ key, receipt, hasEffect }: Arrival): void {
  if (!hasEffect) return;
  effects.set(key, receipt);
  count = Math.max(count, receipt);
}

function readArrivals(path: string): readonly Arrival[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Arrival);
}
