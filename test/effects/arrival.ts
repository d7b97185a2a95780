import { readFile } from "node:fs/promises";

/** A request that reached the service. */
export interface Arrival {
  readonly key: string;
  /** The fencing token of the claim under which it was sent. */
  readonly token: number;
  readonly receipt: number;
  /** False: its idempotency key had been there before. */
  readonly hasEffect: boolean;
}

/** What has reached the service so far. */
export async function readArrivals(file: string): Promise<readonly Arrival[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Arrival);
}
