import { expect, it } from "vitest";
import { openFaultyStore, settle } from "./faulty-level.js";

it("of callers that fight for one document, those who lost are told before the one who won: the next turn is theirs", async () => {
  const { store, level } = await openFaultyStore();
  const { revision } = await store.put({ shape: "note", id: "a", set: { n: 0 } });
  level.hold();
  const told: string[] = [];
  const tries = [1, 2, 3].map((n) =>
    store.put({ shape: "note", id: "a", set: { n }, if_match: { revision } }).then(
      () => told.push(`${n} won`),
      () => told.push(`${n} lost`),
    ),
  );
  await settle();
  expect(told).toEqual([]);
  level.letGo();
  await Promise.all(tries);
  expect(told).toEqual(["2 lost", "3 lost", "1 won"]);
  await store.close();
});
