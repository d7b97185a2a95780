import type { Clock } from "../../../src/base/clock.js";
import { checkStable } from "../../../src/tools/arguments.js";

/*
 * The SDK validates the arguments before it enters a tool, and what the model wrote is gone by then. A schema whose default
 * is the time or a random id would make another call of every retry, so it is asked twice where the SDK asks it.
 */

type Method = (...args: readonly unknown[]) => unknown;

/**
 * The server's own validation, for whose guarded tools the schema must make the same of the same arguments.
 *
 * @param isGuarded whether a registered tool is
 * @returns undefined: a version of the SDK without a method for it
 */
export function stableValidation(
  server: object,
  isGuarded: (tool: unknown) => boolean,
  clock: Pick<Clock, "wallNow">,
): Method | undefined {
  const validate: unknown = Reflect.get(server, "validateToolInput");
  if (typeof validate !== "function") return undefined;
  return async (...args) => {
    const parsed: unknown = await Reflect.apply(validate, server, args);
    // Without a schema nothing is made.
    if (parsed === undefined || !isGuarded(args[0])) return parsed;
    const again: unknown = await Reflect.apply(validate, server, args);
    checkStable({ given: args[1] ?? {}, output: parsed, again, now: clock.wallNow() });
    return parsed;
  };
}
