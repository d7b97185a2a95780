import assert from "node:assert/strict";
import { test } from "vitest";
import { SeededRandom } from "../crash/seeded-random.js";
import { backupTrial, tryBackup } from "./backup-trial.js";
import { backupWithOneOfBefore, backupWithoutOne } from "./faulty-backup.js";

test("a backup taken under load, restored, is document by document what the store was at its revision", async () => {
  const counts = await backupTrial.run(new SeededRandom(11));
  assert.ok(
    (counts["documents"] ?? 0) > 100 && (counts["with_deadline"] ?? 0) > 20 && (counts["expired"] ?? 0) > 10,
    JSON.stringify(counts),
  );
  assert.ok((counts["during_backup"] ?? 0) > 0, "nothing was written during the backup");
});

test("a backup that is of another moment than it says is found", async () => {
  await assert.rejects(
    tryBackup(new SeededRandom(11), async (store, file) => {
      const earlier = store.revision - 1;
      await store.backup(file);
      return earlier;
    }),
  );
});

test.each([
  ["has lost one document", backupWithoutOne],
  ["has one document as it was before", backupWithOneOfBefore],
])("a backup whose header and checksum are right, but which %s, is found", async (_, takeBackup) => {
  // By the comparison of documents, and not by a check of the file.
  await assert.rejects(tryBackup(new SeededRandom(11), takeBackup), { name: "AssertionError", message: /^seed 11/ });
});
