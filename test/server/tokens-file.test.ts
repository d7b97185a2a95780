import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { newToken, parseTokens, readTokensFile } from "../../server/index.js";
import { InvalidRequestError } from "../../src/base/errors.js";

const sha256 = "a".repeat(64);
const good = { name: "worker", sha256, read: ["*"], write: ["note", "tool-call"] };

test("a tokens file is read as it was written", () => {
  const other = {
    name: "reader",
    sha256: "B".repeat(64),
    read: [],
    write: [],
    expires_at: "2030-01-31T12:00:00+01:00",
  };
  expect(parseTokens({ tokens: [good, other] })).toEqual([good, { ...other, sha256: "b".repeat(64) }]);
});

test.each([
  ["", []],
  ["tokens", {}],
  ["tokens", { tokens: [] }],
  ["token", { token: [good] }],
  ["tokens[0]", { tokens: ["secret"] }],
  ["tokens[1].name", { tokens: [good, { ...good, name: "a b", sha256: "b".repeat(64) }] }],
  ["tokens[1].name", { tokens: [good, { ...good, sha256: "b".repeat(64) }] }],
  ["tokens[1].sha256", { tokens: [good, { ...good, name: "other" }] }],
  ["tokens[0].sha256", { tokens: [{ ...good, sha256: "abc" }] }],
  ["tokens[0].read", { tokens: [{ ...good, read: "*" }] }],
  ["tokens[0].read", { tokens: [{ ...good, read: ["*", "note"] }] }],
  ["tokens[0].write[1]", { tokens: [{ ...good, write: ["note", "Not A Shape"] }] }],
  ["tokens[0].write", { tokens: [{ name: "worker", sha256, read: ["*"] }] }],
  ["tokens[0].expires", { tokens: [{ ...good, expires: "2030-01-31T12:00:00Z" }] }],
  ["tokens[0].expires_at", { tokens: [{ ...good, expires_at: "tomorrow" }] }],
  ["tokens[0].expires_at", { tokens: [{ ...good, expires_at: "2030-01-31T12:00:00" }] }],
  ["tokens[0].expires_at", { tokens: [{ ...good, expires_at: "2030-13-31T12:00:00Z" }] }],
  ["tokens[0].expires_at", { tokens: [{ ...good, expires_at: 1924992000 }] }],
])("%s is named when it is wrong", (path, content) => {
  expect(() => parseTokens(content)).toThrow(InvalidRequestError);
  expect(() => parseTokens(content)).toThrow(expect.objectContaining({ path }));
});

test("a faulty file is refused by its name and by what is wrong in it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-tokens-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "tokens.json");
  await expect(readTokensFile(file)).rejects.toThrow(/the tokens file cannot be read: ENOENT/);
  await writeFile(file, '{"tokens":[');
  await expect(readTokensFile(file)).rejects.toThrow(`the tokens file ${file} is not valid: its content is not JSON`);
  await writeFile(file, JSON.stringify({ tokens: [{ ...good, sha256: "x" }] }));
  await expect(readTokensFile(file)).rejects.toThrow(
    `${file} is not valid: tokens[0].sha256: must be 64 hexadecimal digits`,
  );
  await writeFile(file, JSON.stringify({ tokens: [good] }));
  expect(await readTokensFile(file)).toEqual([good]);
});

test("a new token is 256 random bits, and its entry does not hold it", () => {
  const random = (bytes: number) => new Uint8Array(bytes).fill(7);
  const { token, entry } = newToken("worker", { read: ["note"], write: ["*"] }, random);
  expect(token).toBe(`okv_${Buffer.alloc(32, 7).toString("base64url")}`);
  expect(entry).toMatchObject({ name: "worker", read: ["note"], write: ["*"] });
  expect(JSON.stringify(entry)).not.toContain(token.slice(4, 20));
  expect(newToken("worker", { read: [], write: [] }).token).not.toBe(newToken("worker", { read: [], write: [] }).token);
});

test("a new token's name and scopes are judged", () => {
  expect(() => newToken("a b", { read: [], write: [] })).toThrow(expect.objectContaining({ path: "name" }));
  expect(() => newToken("a", { read: ["A"], write: [] })).toThrow(expect.objectContaining({ path: "read[0]" }));
});
