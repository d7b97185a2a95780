import { expect, test } from "vitest";
import { untilTried } from "./until-tried.js";

test("random work goes on until everything was tried often enough, and fails when something never is", async () => {
  let piece = 0;
  const cutsOnceInThree = async (): Promise<{ cuts: number; answers: number }> => ({
    cuts: ++piece % 3 === 0 ? 1 : 0,
    answers: 5,
  });
  await expect(untilTried({ cuts: 2, answers: 1 }, 10, cutsOnceInThree)).resolves.toEqual({ cuts: 2, answers: 30 });
  await expect(untilTried({ cuts: 1, kills: 1 }, 10, cutsOnceInThree)).rejects.toThrow(/in 10 pieces.*"answers":50/);
});
