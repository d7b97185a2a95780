import { expect, test } from "vitest";
import { type Flood, faultsOf, isFlood } from "./flood-judge.js";
import type { FloodOutcome } from "./flood-sender.js";

const outcome: FloodOutcome = {
  sent: 400,
  heldBack: 0,
  acknowledged: [1, 2, 3],
  refused: [4, 5],
  unknown: [6, 7],
  wrong: {},
  pages: 10,
};
const good: Flood = {
  outcome,
  // What nobody was told about may be there or not.
  stored: new Set([1, 2, 3, 7]),
  looks: 10,
  looksFailed: 0,
  memoryMost: 1000,
  memoryKept: 100,
  requestsLeft: 0,
  bytesLeft: 0,
  slowness: 2,
};
const bounds = { memoryMax: 1000, keptMax: 100, slownessMax: 2 };

test("a flood under which a server did what it must is without fault", () => {
  expect(faultsOf(good, bounds)).toEqual([]);
  expect(isFlood(outcome)).toBe(true);
});

test.each<[string, Partial<Flood>]>([
  ["acknowledged writes are lost: 3", { stored: new Set([1, 2]) }],
  ["writes were refused and done: 5", { stored: new Set([1, 2, 3, 5]) }],
  ['answers that are none: {"500":1}', { outcome: { ...outcome, wrong: { "500": 1 } } }],
  ["5 of 400 requests got no answer", { outcome: { ...outcome, unknown: [6, 7, 8, 9, 10] } }],
  ["1 of 10 looks of an operator got no answer", { looksFailed: 1 }],
  ["memory grew by 1001 bytes", { memoryMost: 1001 }],
  ["101 bytes are kept", { memoryKept: 101 }],
  ["1 requests are left", { requestsLeft: 1 }],
  ["1 bytes are still counted", { bytesLeft: 1 }],
  ["a write takes 2.5 times its usual time", { slowness: 2.5 }],
])("it is found when %s", (fault, changed) => {
  expect(faultsOf({ ...good, ...changed }, bounds)).toEqual([fault]);
});

test("it is no flood when nothing was refused, or nothing done", () => {
  expect(isFlood({ ...outcome, refused: [] })).toBe(false);
  expect(isFlood({ ...outcome, acknowledged: [] })).toBe(false);
});
