import type { Answer } from "./http.js";
import { startServer, type TestServer } from "./test-server.js";

type Members = Record<string, unknown>;

/** A server, and short ways to its tool calls. */
export interface CallServer extends TestServer {
  claim(body: Members, headers?: Record<string, string>): Promise<Answer>;
  /** Says something about a claim. */
  say(action: string, claim: Members, body?: Members): Promise<Answer>;
  /** The fields of the record with that key. */
  record(key: string): Promise<Members>;
}

export async function startCallServer(options: Parameters<typeof startServer>[0] = {}): Promise<CallServer> {
  const server = await startServer(options);
  return {
    ...server,
    claim: (body, headers = {}) => server.request("POST", "/v1/tool-calls/claim", { body, headers }),
    say: (action, { key, claim_id }, body = {}) =>
      server.request("POST", `${pathOf(String(key))}/${action}`, { body: { claim_id, ...body } }),
    record: async (key) => {
      const answer = await server.request("GET", pathOf(key));
      return (answer.json as { fields: Members }).fields;
    },
  };
}

export function pathOf(key: string): string {
  return `/v1/tool-calls/${encodeURIComponent(key)}`;
}

export function bodyOf(answer: Answer): Members {
  return answer.json as Members;
}

/** What a problem says about the call. */
export function callOf(answer: Answer): Members {
  return bodyOf(answer)["call"] as Members;
}
