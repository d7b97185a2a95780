import type { Clock } from "../src/base/clock.js";
import type { DocumentStore } from "../src/documents/contract.js";
import { type ToolCalls, toolCalls } from "../src/tool-calls/index.js";
import type { RemoteClaims } from "../src/tool-calls/remote-claims.js";
import { callShape } from "./call-shape.js";
import { ReviewCount } from "./review-count.js";

/** The tool calls that a server makes for those who speak HTTP only. It holds none of their claims itself. */
export interface ServedCalls {
  readonly calls: ToolCalls;
  readonly claims: RemoteClaims;
  readonly reviews: ReviewCount;
}

export function serveCalls(store: DocumentStore, clock: Clock): ServedCalls {
  const calls = toolCalls(store, { clock, shape: callShape, owner: "http" });
  return { calls, claims: calls.remoteClaims(), reviews: new ReviewCount(store, clock, callShape) };
}
