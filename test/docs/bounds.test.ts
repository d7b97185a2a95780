import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { makeBoundOptions } from "../../cli/server-bounds.js";
import { type ServerLimits, serverLimits } from "../../server/limits.js";
import { Metrics } from "../../server/metrics.js";

const read = (page: string): Promise<string> => readFile(new URL(`../../${page}`, import.meta.url), "utf8");
const api = await read("docs/http-api.md");
const section = api.slice(api.indexOf("## Bounds of requests"), api.indexOf("## TLS\n"));

/** An option by its bound: `--waits-max` is `waitsMax`. */
const boundOf = (flag: string): string => flag.slice(2).replace(/-[a-z]/g, (part) => part.slice(1).toUpperCase());

test("docs/http-api.md tells of every bound that has an option what it is when it is not given", () => {
  const rows = [...section.matchAll(/^\| [^|]+ \| `(--[a-z-]+)` \| ([\d,]+) \|/gm)].map(
    ([, flag = "", number = ""]) => ({
      flag,
      number: Number(number.replaceAll(",", "")),
    }),
  );
  const ofSenders = ["--requests-per-second", "--requests-at-once"];
  const flags = makeBoundOptions().map(({ long }) => `${long}`);
  expect(rows.map(({ flag }) => flag).sort()).toEqual(flags.filter((flag) => !ofSenders.includes(flag)).sort());
  for (const flag of ofSenders) expect(section).toContain(flag);
  const known = new Map<string, number>(Object.entries(serverLimits));
  for (const { flag, number } of rows) expect(number, flag).toBe(known.get(boundOf(flag)));
});

test("the help of serve tells the same numbers", () => {
  const known = new Map<string, number>(Object.entries(serverLimits));
  let told = 0;
  for (const { long, description } of makeBoundOptions()) {
    const number = known.get(boundOf(`${long}`));
    if (number === undefined) continue;
    expect(description).toContain(`${number} when absent`);
    told += 1;
  }
  expect(told).toBe(6);
});

test("the times and numbers in the text are those of the server", () => {
  const sentences: readonly (readonly [keyof ServerLimits, number, string])[] = [
    ["headersMs", 30_000, "must have arrived within 30 seconds"],
    ["requestMs", 120_000, "the whole of it within 120"],
    ["handshakeMs", 10_000, "A TLS handshake has 10 seconds"],
    ["answerMs", 120_000, "must have been taken within 120 seconds (looked at every 30)"],
    ["keepAliveMs", 72_000, "An idle connection is kept for 72 seconds"],
    ["otherFilesMax", 1500, "1,500 files are left to the store"],
    ["backupsMax", 1, "| backups | | 1 |"],
    ["pagesAtOnceMax", 8, "put together at once | | 8 |"],
  ];
  for (const [name, value, sentence] of sentences) {
    expect(serverLimits[name], name).toBe(value);
    expect(section.replaceAll("\n", " ")).toContain(sentence);
  }
});

test("docs/operations.md names every metric of the server's connections, requests and readers, and none that is not there", async () => {
  const metrics = new Metrics({
    storeStats: () => ({}),
    waits: () => 0,
    streams: () => 0,
    load: { requests: 0, bytes: 0, refused: 0, cut: 0 },
    waitingEvents: { bytes: 0, cut: 0 },
    connections: { size: 0, refused: 0 },
    toolCalls: () => ({ fired: 0, replayed: 0, conflicts: 0, waits: 0, lapses: 0, fenced: 0, reviews: 0 }),
    reviews: () => undefined,
    reloads: () => [],
    processMetrics: false,
  });
  const there = new Set([...(await metrics.text()).matchAll(/^# TYPE (oncekv_http_\w+)/gm)].map(([, name]) => name));
  const page = await read("docs/operations.md");
  const named = new Set([...page.matchAll(/`(oncekv_http_\w+)`/g)].map(([, name]) => name));
  expect(named).toEqual(there);
});
