import fc from "fast-check";
import type { Fault, Request } from "./faulty-network.js";

/* What happens in a run of the model. */

/** What a tool does when it is entered. */
export type Behaviour =
  | "returns"
  | "returns slowly"
  /** Stops after its last look at the claim, and then has its effect whatever has become of it. */
  | "is suspended"
  | "ends in doubt with its effect"
  | "ends in doubt without"
  | "fails"
  | "has to be tried again"
  | "parks";

export type Event =
  | {
      readonly event: "call";
      readonly worker: number;
      readonly account: number;
      readonly args: string;
      readonly does: Behaviour;
    }
  | { readonly event: "plan"; readonly worker: number; readonly account: number }
  | {
      readonly event: "fault";
      readonly worker: number;
      readonly request: Request;
      readonly fault: Fault;
      readonly times: number;
    }
  | { readonly event: "deliver" | "crash" | "cut" | "mend" | "give up"; readonly worker: number }
  | { readonly event: "wake" }
  | { readonly event: "time"; readonly seconds: number }
  | { readonly event: "resolve"; readonly account: number; readonly decree: boolean }
  | { readonly event: "forget"; readonly account: number }
  | { readonly event: "round"; readonly worker: number };

const worker = fc.nat(2);
const account = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) });

const does: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Behaviour>("returns") },
  {
    weight: 6,
    arbitrary: fc.constantFrom<Behaviour>(
      "returns slowly",
      "is suspended",
      "ends in doubt with its effect",
      "ends in doubt without",
      "fails",
      "has to be tried again",
      "parks",
    ),
  },
);

const request = fc.constantFrom<Request>(
  "read",
  "wait",
  "renew",
  "pending",
  "completed",
  "released",
  "failed",
  "unknown",
  "parked",
);
const fault = fc.constantFrom<Fault>(
  "request lost",
  "reply lost",
  "late",
  "held",
  "reply held",
  "unreachable",
  "overloaded",
);
const times = fc.constantFrom(1, 1, 3);
const args = fc.oneof({ weight: 8, arbitrary: fc.constant("x") }, { weight: 1, arbitrary: fc.constant("y") });

export const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ event: fc.constant("call" as const), worker, account, args, does }) },
  { weight: 1, arbitrary: fc.record({ event: fc.constant("plan" as const), worker, account }) },
  { weight: 5, arbitrary: fc.record({ event: fc.constant("fault" as const), worker, request, fault, times }) },
  {
    weight: 4,
    arbitrary: fc.record({
      event: fc.constantFrom("deliver" as const, "crash" as const, "cut" as const, "mend" as const, "give up" as const),
      worker,
    }),
  },
  { weight: 3, arbitrary: fc.record({ event: fc.constant("wake" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ event: fc.constant("time" as const), seconds: fc.constantFrom(1, 4, 6, 11, 31, 61) }),
  },
  { weight: 2, arbitrary: fc.record({ event: fc.constant("resolve" as const), account, decree: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ event: fc.constant("forget" as const), account }) },
  { weight: 2, arbitrary: fc.record({ event: fc.constant("round" as const), worker }) },
);
