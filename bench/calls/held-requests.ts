import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** The paths that `heldRequests` serves. */
export const heldPaths = { wait: "/wait", held: "/held", release: "/release" } as const;

/** As much as our server answers to a waiter: a settled record of about 600 bytes. */
const record = JSON.stringify({ shape: "tool-call", id: "mail", revision: 3, fields: { filler: "x".repeat(520) } });

/**
 * The floor under waiters over HTTP: a `node:http` handler that keeps every request for `/wait` until one for `/release`
 * comes, and then answers that one and all of them with the same text.
 */
export function heldRequests(): RequestListener {
  let held: ServerResponse[] = [];
  return ({ url }: IncomingMessage, response) => {
    if (url === heldPaths.wait) held.push(response);
    else if (url === heldPaths.held) response.end(String(held.length));
    else {
      const released = held;
      held = [];
      for (const one of [response, ...released]) answer(one);
    }
  };
}

function answer(response: ServerResponse): void {
  response.writeHead(200, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(record),
    etag: '"3"',
  });
  response.end(record);
}
