import { runTorture } from "./torture.js";
import { trials } from "./trials.js";

/*
 * The long form of everything that tries to break a promise: `npm run torture -- --minutes N --seed S`. Ends with 1 when a
 * trial has found something, and with 2 when the command line cannot be followed.
 */

await runTorture(trials);
