import { expect, test } from "vitest";
import { newToken, Tokens } from "../../server/index.js";
import { startServer } from "./test-server.js";

const all = { read: ["*"], write: ["*"] };
const root = newToken("root", all);

/** Whoever shows no valid token, in every way that there is. */
const strangers: readonly [string, string | undefined][] = [
  ["no header", undefined],
  ["an empty header", ""],
  ["another scheme", "Basic dXNlcjpwYXNz"],
  ["a scheme without a token", "Bearer"],
  ["two tokens", `Bearer ${root.token} ${root.token}`],
  ["an unknown token", `Bearer ${newToken("other", all).token}`],
  ["a token that lacks its last character", `Bearer ${root.token.slice(0, -1)}`],
  ["a token with one character more", `Bearer ${root.token}a`],
  ["a token in the wrong case", `Bearer ${root.token.toUpperCase()}`],
  ["the digest in place of the token", `Bearer ${root.entry.sha256}`],
  ["a long text", `Bearer ${"a".repeat(4000)}`],
];

test("missing, malformed and wrong tokens get one answer, byte for byte", async () => {
  const { request } = await startServer({ tokens: [root.entry] });
  for (const [method, path] of [
    ["GET", "/v1/documents/note/a"],
    ["PUT", "/v1/documents/note/a"],
    ["POST", "/v1/tool-calls/claim"],
    ["GET", "/v1/changes"],
    ["GET", "/metrics"],
  ] as const) {
    const answers = new Map<string, string>();
    for (const [name, authorization] of strangers) {
      const headers = authorization === undefined ? {} : { authorization };
      const { status, headers: answered, text } = await request(method, path, { headers });
      const { date, ...others } = answered;
      answers.set(name, JSON.stringify({ status, others, text }));
    }
    expect([...new Set(answers.values())], `${method} ${path}`).toHaveLength(1);
    expect([...answers.values()][0]).toContain('\\"code\\":\\"unauthorized\\"');
  }
});

test("that a token has expired is told to who shows that token, and to nobody else", async () => {
  const brief = newToken("brief", { ...all, expires_at: "2025-01-01T00:00:00Z" });
  const { request } = await startServer({ tokens: [brief.entry] });
  const text = async (authorization: string) =>
    (await request("GET", "/v1/stats", { headers: { authorization } })).text;
  expect(await text(`Bearer ${brief.token}`)).toContain("has expired");
  for (const [name, authorization = ""] of strangers) expect(await text(authorization), name).not.toContain("expired");
});

type Authenticate = (header: string | undefined) => unknown;

/** The largest of the middle times that the headers take, as a multiple of the smallest. */
function spread(authenticate: Authenticate, headers: readonly (string | undefined)[]): number {
  const times = headers.map((): number[] => []);
  for (let round = 0; round < 151; round++) {
    for (const [index, header] of headers.entries()) {
      const begin = process.hrtime.bigint();
      try {
        authenticate(header);
      } catch {
        // Refused, as it must be.
      }
      times[index]?.push(Number(process.hrtime.bigint() - begin));
    }
  }
  const middles = times.map((list) => list.sort((a, b) => a - b)[75] ?? 0);
  return Math.max(...middles) / Math.min(...middles);
}

// So many that comparing them takes most of the time: a way around it would show.
const entries = Array.from({ length: 400 }, (_, n) => newToken(`t-${n}`, all).entry);
const first = newToken("first", all);
const headers = [undefined, "Basic x", "Bearer", `Bearer ${first.token.slice(0, -1)}`, `Bearer ${root.token}`];

test("refusing takes the same time, whatever is wrong", () => {
  const tokens = new Tokens([first.entry, ...entries]);
  expect(spread((header) => tokens.authenticate(header, 0), headers)).toBeLessThan(2);
});

test("a server that looked at nothing without a header would be found by that", () => {
  const tokens = new Tokens([first.entry, ...entries]);
  const early: Authenticate = (header) => {
    if (header === undefined) throw new Error("no header");
    return tokens.authenticate(header, 0);
  };
  expect(spread(early, headers)).toBeGreaterThan(4);
});
