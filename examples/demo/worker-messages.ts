import type { EmittedCall } from "./emitted-call.js";

/** A moment inside a call at which a worker says so and stands still, to be killed there. */
export type Moment = "before the effect" | "after the effect";

/** From the main process to a worker: a call to work on. */
export interface Task {
  readonly id: number;
  readonly call: EmittedCall;
  /** Stand still at this moment instead of going on. */
  readonly stopAt: Moment | undefined;
}

/** How a call ended. */
export type Answer =
  | { readonly kind: "fired"; readonly messageId: string; readonly attempt: number }
  | { readonly kind: "replayed"; readonly messageId: string }
  | { readonly kind: "conflict" }
  | { readonly kind: "error"; readonly message: string };

/** From a worker to the main process. */
export type Report =
  | { readonly report: "answered"; readonly id: number; readonly answer: Answer }
  | { readonly report: "standing still" };
