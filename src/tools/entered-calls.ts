import type { ToolCall } from "../tool-calls/index.js";

/*
 * A tool of a framework's make has the framework's parameters, and their types leave no place for the call. It is found by
 * the object that the tool was entered with, which is made anew for each call.
 */

const entered = new WeakMap<object, ToolCall>();

/** Remembers the call under which a tool is entered. @param options an object of this call alone */
export function noteEntered(options: object, call: ToolCall): void {
  entered.set(options, call);
}

/**
 * The call that a guarded tool was entered under: its key and headers for the service behind it, its mark, its fencing token.
 *
 * @param options the very object that the tool got from its framework
 * @returns undefined in a tool that is not guarded
 */
export function callOf(options: unknown): ToolCall | undefined {
  return typeof options === "object" && options !== null ? entered.get(options) : undefined;
}
