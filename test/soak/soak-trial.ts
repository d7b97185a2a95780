import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SeededRandom } from "../crash/seeded-random.js";
import type { Trial } from "../torture/trial.js";
import { growing, type Measured } from "./levelling.js";

/** A bounded soak run, whose memory, handles and disk must level off. */
export const soakTrial: Trial = {
  name: "soak",
  run: async (random) => {
    const stretches = await soak(random.seed, { stretches: 9, rounds: 15 });
    const grown = growing(stretches);
    assert.deepEqual(grown, [], `seed ${random.seed}: ${JSON.stringify(stretches)}`);
    return { stretches: stretches.length, writes: stretches.length * 15 * 40 };
  },
};

/** Runs the load in a process of its own and gives what each stretch has left behind. */
export async function soak(
  seed: SeededRandom["seed"],
  options: { readonly stretches: number; readonly rounds: number; readonly leak?: "memory" | "watches" | "disk" },
): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-soak-"));
  try {
    const script = fileURLToPath(new URL("soak-process.ts", import.meta.url));
    const { stretches, rounds, leak = "none" } = options;
    const child = spawn(
      process.execPath,
      ["--expose-gc", "--import", "tsx", script, folder, `${seed}`, `${stretches}`, `${rounds}`, leak],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const [code] = (await once(child, "close")) as [number | null];
    assert.equal(code, 0, stderr);
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Measured);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
