/** Says in words what a caller gave, for the message of an error: "a string", "NaN", "an instance of Map". */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? "a number" : String(value);
    case "object":
      return Array.isArray(value) ? kindOfArray(value) : kindOfObject(value);
    case "boolean":
      return String(value);
    default:
      return `a ${typeof value}`;
  }
}

function kindOfArray(value: object): string {
  return Object.getPrototypeOf(value) === Array.prototype ? "an array" : "an instance of a class made from Array";
}

function kindOfObject(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || typeof prototype !== "object" || prototype === null) return "an object";
  // Read without running code of the caller's: a getter named `constructor` is passed over.
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  const name: unknown = typeof maker === "function" ? Object.getOwnPropertyDescriptor(maker, "name")?.value : undefined;
  return typeof name === "string" && name !== "" ? `an instance of ${name.slice(0, 64)}` : "an instance of a class";
}
