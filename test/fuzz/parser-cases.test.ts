import { expect, test } from "vitest";
import type { Problem } from "./answer-judge.js";
import { baseRequest, secret, wireRequest } from "./base-request.js";
import { type FuzzServer, openFuzzServer, type Weakness } from "./fuzz-server.js";
import { parserCases } from "./parser-cases.js";

/**
 * Sends every case to every route that reads a body.
 *
 * @param only the routes to try, when a few will do
 */
async function tryAll(
  server: FuzzServer,
  only?: readonly string[],
): Promise<{ readonly faults: string[]; readonly tried: number }> {
  const faults: string[] = [];
  let tried = 0;
  for (const operation of server.operations) {
    if (operation.body === undefined || only?.includes(operation.id) === false) continue;
    const base = await baseRequest(server, operation);
    // A body that may be empty is given a member that is not known: what is wrong with the text is told first.
    const body = Object.keys(base.body as object).length === 0 ? { surprise: secret } : base.body;
    for (const { name, spoil, headers, code, says } of parserCases) {
      const request = wireRequest(base, spoil(JSON.stringify(body)));
      const before = server.store.revision;
      tried += 1;
      const answer = await server.wire.send({ ...request, headers: { ...request.headers, ...headers } });
      const problem = parse(answer.text);
      const found = server.judge.faults(operation, answer);
      if (problem?.code !== code) found.push(`the code is ${problem?.code} and not ${code}`);
      if (!says.test(problem?.detail ?? "")) found.push(`the detail is ${problem?.detail?.slice(0, 200)}`);
      if (answer.text.includes(secret)) found.push("the answer shows what the body holds");
      if (server.store.revision !== before) found.push("something was stored");
      for (const fault of found) faults.push(`${operation.id} with ${name}: ${fault}`);
    }
  }
  faults.push(...server.faultsLogged());
  return { faults, tried };
}

async function withServer<T>(weaken: Weakness | undefined, work: (server: FuzzServer) => Promise<T>): Promise<T> {
  const server = await openFuzzServer({ weaken });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

function parse(text: string): Partial<Problem> | undefined {
  try {
    return JSON.parse(text) as Partial<Problem>;
  } catch {
    return undefined;
  }
}

test("whatever text a body is that is no JSON object, every route says what is wrong with it and where, shows nothing of it and stores nothing", async () => {
  const { faults, tried } = await withServer(undefined, (server) => tryAll(server));
  expect(faults).toEqual([]);
  expect(tried).toBeGreaterThan(800);
});

test("a server whose parser takes a body as it comes would be found by that", async () => {
  const lax: Weakness = {
    app: (app) => {
      app.removeContentTypeParser("application/json");
      app.addContentTypeParser("application/json", { parseAs: "string" }, (_, body, done) => {
        try {
          done(null, JSON.parse(String(body)));
        } catch (error) {
          done(error as Error, undefined);
        }
      });
    },
  };
  const { faults } = await withServer(lax, (server) => tryAll(server, ["putDocument", "batch", "claimCall"]));
  for (const expected of [
    "putDocument with a text with a byte that begins no character",
    "batch with its first member twice",
    "claimCall with a hundred thousand arrays in each other",
    "putDocument with a word: 500 is no answer",
  ]) {
    expect(
      faults.some((fault) => fault.startsWith(expected)),
      expected,
    ).toBe(true);
  }
});
