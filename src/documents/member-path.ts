const identifier = /^[A-Za-z_$][\w$]*$/;

/** Names longer than this are cut in a path: a path is for people, and its length must not be the caller's choice. */
const nameLengthMax = 128;

/**
 * The path of a member: `set.items[3].price`, `set["odd name"]`.
 *
 * @param path of the object or array; "" at the top
 * @param name of the member, or the position in an array
 */
export function memberPath(path: string, name: string | number): string {
  if (typeof name === "number") return `${path}[${name}]`;
  if (name.length > nameLengthMax) return `${path}[${JSON.stringify(name.slice(0, nameLengthMax))}...]`;
  if (!identifier.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}
