import { expect, test } from "vitest";
import { permitOf } from "../../server/access/permit.js";
import { SeededRandom } from "../crash/seeded-random.js";
import { tokenRotation } from "../torture/token-rotation.js";

test("whatever the tokens become, exactly those are let in and go on that the newest tokens allow", async () => {
  const random = new SeededRandom();
  for (let piece = 0; piece < 20; piece++) {
    const counts = await tokenRotation().run(random);
    for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(0);
  }
});

const weakened: readonly [string, typeof permitOf][] = [
  [
    "looks only when something begins",
    (access, clock, check) => (end) => {
      permitOf(access, clock, check)(end)();
      return () => {};
    },
  ],
  [
    "forgets that tokens expire",
    (access, clock, check) => {
      const timeless = { ...clock, wallNow: () => 0, setTimer: () => () => {}, monotonicNow: () => 0 };
      return permitOf(access, timeless, check);
    },
  ],
  ["forgets the scope", (access, clock) => permitOf(access, clock, () => {})],
];

test.each(weakened)("a server that %s is found out", async (_, permit) => {
  const random = new SeededRandom(1);
  const pieces = async (): Promise<void> => {
    for (let piece = 0; piece < 20; piece++) await tokenRotation(permit).run(random);
  };
  await expect(pieces()).rejects.toThrow(/^seed 1, step \d+: what t-\d follows of/);
});
