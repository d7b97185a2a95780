/** An object as a caller gives it, before its members are judged. */
export type PlainObject = { readonly [name: string]: unknown };

/**
 * Whether `value` is what an object literal or `JSON.parse` makes: no prototype, or `Object.prototype`, that of another
 * realm too (a `vm` context, a worker's module). Anything else may carry meaning that its own members do not show.
 */
export function isPlainObject(value: unknown): value is PlainObject {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  return isForeignObjectPrototype(prototype);
}

/** Whether `value` is a list as an array literal makes it, of this realm or another, and not of a class made from Array. */
export function isPlainArray(value: unknown): value is readonly unknown[] {
  if (!Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Array.prototype) return true;
  // Array.prototype is itself an array; the prototype of a subclass is not.
  return Array.isArray(prototype) && isForeignObjectPrototype(Object.getPrototypeOf(prototype));
}

/** `class X extends null` ends its chain early too, so that the end of the chain alone proves nothing. */
function isForeignObjectPrototype(prototype: unknown): boolean {
  return (
    typeof prototype === "object" &&
    prototype !== null &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, "isPrototypeOf")
  );
}
