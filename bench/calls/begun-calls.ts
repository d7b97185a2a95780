import type { ToolCalls } from "../../src/tool-calls/index.js";

/** Seconds that calls are waited for which an error has left behind. */
const patience = 0.01;

/** Runs `use`, and ends the calls that are left afterwards, so that no claim is renewed any more. */
export async function withCalls<T>(calls: ToolCalls, use: (calls: ToolCalls) => Promise<T>): Promise<T> {
  try {
    return await use(calls);
  } finally {
    await calls.close({ timeout: patience });
  }
}
