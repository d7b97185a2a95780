import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Condition, DocumentKey, DocumentStore, Fields, WriteResult } from "../../src/documents/contract.js";

/** What a handler over a store needs of it. */
export type BareStore = Pick<DocumentStore, "put" | "getMany">;

/** The body of a create, as it is taken to be. */
interface PutBody {
  readonly set: Fields;
  readonly if_match?: Condition;
}

/**
 * The floor under a server of documents: a `node:http` handler that reads a request's body, parses it, has the store write
 * with the same condition and the same write id as ours, and answers with as much. It checks nothing, knows nobody,
 * counts and logs nothing.
 *
 * It also answers `get-many`, for the checks after a round.
 */
export function bareHandler(store: BareStore): RequestListener {
  return (request, response) => {
    readBody(request, (body) => {
      if (request.method !== "PUT") return void sendMany(store, response, body as { keys: DocumentKey[] });
      const { set, if_match } = body as PutBody;
      const [, , , shape = "", id = ""] = (request.url ?? "").split("/");
      const write_id = String(request.headers["idempotency-key"]);
      const condition = if_match === undefined ? {} : { if_match };
      store.put({ shape, id: decodeURIComponent(id), set, ...condition, write_id }).then(
        (result) => sendResult(response, result),
        (error: unknown) => sendRefusal(response, error),
      );
    });
  };
}

/** The same without a store: what HTTP and JSON cost by themselves. Every request is answered as if it had created. */
export function emptyHandler(): RequestListener {
  let revision = 1_000_000;
  return (request, response) => {
    readBody(request, () => sendResult(response, { revision: ++revision, expires_at: null, created: true }));
  };
}

function readBody(request: IncomingMessage, use: (body: unknown) => void): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
  });
  request.on("end", () => {
    use(JSON.parse(Buffer.concat(chunks).toString()));
  });
}

function sendResult(response: ServerResponse, { revision, expires_at, created }: WriteResult): void {
  const text = JSON.stringify({ revision, expires_at, created });
  response.writeHead(created ? 201 : 200, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    etag: `"${revision}"`,
  });
  response.end(text);
}

async function sendMany(store: BareStore, response: ServerResponse, body: { keys: DocumentKey[] }): Promise<void> {
  const documents = await store.getMany(body.keys);
  response.end(JSON.stringify({ documents: documents.map((document) => document ?? null) }));
}

function sendRefusal(response: ServerResponse, error: unknown): void {
  const { status = 500, code = "internal", failures = [] } = error as Partial<RefusedWrite>;
  const text = JSON.stringify({ status, code, detail: String(error), failures });
  response.writeHead(status, {
    "content-type": "application/problem+json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

/** A failed condition of the store's, as it is answered. */
interface RefusedWrite {
  readonly status: number;
  readonly code: string;
  readonly failures: readonly unknown[];
}
