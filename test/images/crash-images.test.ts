import { describe, expect, test } from "vitest";
import { SeededRandom } from "../crash/seeded-random.js";
import { untilTried } from "../torture/until-tried.js";
import type { Weakness } from "./crash-disk.js";
import { cutEverywhere } from "./crash-images.js";

describe("a store that is cut at every write to its disk", () => {
  test.each(["durable", "buffered"] as const)(
    "%s: shows what it promised, nothing torn, nothing refused, and never writes after a failure",
    async (durability) => {
      const random = new SeededRandom();
      console.log(`seed of the ${durability} cuts: ${random.seed}`);
      const counts = await untilTried({ "images opened": 20, "write ids repeated": 20 }, 20, () =>
        cutEverywhere(random, { durability, length: 20, waysEach: 2 }),
      );
      console.log(JSON.stringify(counts));
    },
  );

  const weaknesses: [about: string, weakness: Weakness, finding: RegExp][] = [
    ["a disk that answers syncs before anything is durable", { kind: "lies about syncs" }, /promised/],
    ["documents in a batch behind their log entry", { kind: "splits batches", tag: "d" }, /deep-equal|promised/],
    ["the log in a batch behind the documents", { kind: "splits batches", tag: "l" }, /deep-equal|promised|log ends/],
    ["write ids in a batch of their own", { kind: "splits batches", tag: "w" }, /w\d+/],
    ["the expiry index in a batch of its own", { kind: "splits batches", tag: "x" }, /expiry index|index leads/],
    ["a failed batch that is tried again", { kind: "tries again" }, /after a batch had failed/],
    ["a failed batch that is taken for done", { kind: "swallows errors" }, /./],
  ];
  test.each(weaknesses)("%s is found", async (_about, weakness, finding) => {
    const random = new SeededRandom(1);
    const search = async (): Promise<void> => {
      for (let script = 0; script < 20; script++) {
        await cutEverywhere(random, { durability: "durable", length: 12, waysEach: 2, weakness });
      }
    };
    await expect(search()).rejects.toThrow(finding);
  });
});
