import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { SeededRandom } from "../crash/seeded-random.js";
import type { Reading } from "./reading.js";
import { damageMany, judge } from "./stored-bytes.js";

test("any damage to a stored file is an error that says so, or harmless: no wrong value, no silent gap, no crash but by LevelDB's own assertions", async () => {
  const random = new SeededRandom();
  console.log(`seed of the damages: ${random.seed}`);
  const counts = await damageMany(random, 100);
  console.log(JSON.stringify(counts));
  expect(Object.keys(counts).length).toBeGreaterThan(2);
});

test("what breaks a promise is found", () => {
  const whole: Reading = { right: 2, errors: 0, missing: [], wrong: [], foreign: [], isFound: false, revision: 2 };
  const documents = [
    { id: "a", fields: {}, revision: 1 },
    { id: "b", fields: {}, revision: 2 },
  ];
  const about = { file: "000005.log", what: "bit 1 of byte 2 of 3 flipped" };
  const judged = (reading: Reading | string): string => judge(about, reading, documents, "/data");
  assert.equal(judged(whole), "harmless");
  assert.equal(judged({ ...whole, missing: ["b"], revision: 1 }), "the log ends early, at a moment of the past");
  assert.throws(() => judged({ ...whole, missing: ["a"] }), /nothing says so/);
  assert.throws(() => judged({ ...whole, wrong: ["a: {}"] }), /wrong values/);
  assert.throws(() => judged({ ...whole, foreign: ["TypeError"] }), /not ours/);
  assert.throws(() => judged({ ...whole, refused: { code: "internal", message: "" } }), /internal/);
  assert.throws(() => judged("the process ended with SIGSEGV"), /SIGSEGV/);
  assert.throws(() => judged("the process ended with SIGABRT: leveldb/table_builder.cc"), /SIGABRT/);
  const inTable = { file: "000005.ldb", what: "bit 1 of byte 2 of 3 flipped" };
  const hidden = { ...whole, missing: ["a"] };
  for (const silent of [hidden, { ...hidden, isFoundInFolder: false }]) {
    assert.throws(() => judge(inTable, silent, documents, "/data"), /nothing says so/);
  }
  assert.match(judge(inTable, { ...hidden, isFoundInFolder: true }, documents, "/data"), /^hidden .* found by verify/);
  const aborted = "the process ended with SIGABRT: leveldb/table_builder.cc";
  assert.equal(judge(inTable, aborted, documents, "/data"), "ended by an assertion of LevelDB");
  assert.throws(() => judge(inTable, "the process ended with SIGSEGV", documents, "/data"), /SIGSEGV/);
});
