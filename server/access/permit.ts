import type { Clock } from "../../src/base/clock.js";
import { OnceKvError } from "../../src/base/errors.js";
import type { Access } from "./access.js";

/**
 * Follows whether something stays allowed. Calls `end` as soon as it no longer is, at once if it is not now, and not
 * after the function that it returns was called.
 */
export type Permit = (end: (fault: OnceKvError) => void) => () => void;

/**
 * The permit of what somebody does who may do it only while `check` passes: until the token expires, is taken away, or
 * loses the scope.
 *
 * @param check throws what to tell when it is not allowed
 */
export function permitOf(access: Access, clock: Clock, check: (access: Access) => void): Permit {
  return (end) => {
    let cancelExpiry = (): void => {};
    const judge = (): void => {
      cancelExpiry();
      try {
        access.requireValid(clock.wallNow());
        check(access);
      } catch (error) {
        stop();
        end(error instanceof OnceKvError ? error : new OnceKvError("internal", String(error), { cause: error }));
        return;
      }
      const { expiresAtMs } = access;
      if (expiresAtMs !== null) cancelExpiry = clock.setTimer(expiresAtMs - clock.wallNow(), judge);
    };
    const stopListening = access.onChange(judge);
    const stop = (): void => {
      stopListening();
      cancelExpiry();
    };
    judge();
    return stop;
  };
}
