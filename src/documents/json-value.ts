import { InvalidRequestError, OnceKvError, TooLargeError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import type { Fields, JsonValue } from "./contract.js";
import { memberPath } from "./member-path.js";
import { isPlainArray, isPlainObject, type PlainObject } from "./plain-object.js";
import { kindOf } from "./value-kind.js";
import { isWellFormed } from "./well-formed.js";

export { memberPath };

/*
 * Values come back exactly as they went in, or are refused. The encoder alone would not keep that promise: it renames an
 * own `__proto__`, calls `toJSON`, replaces a lone surrogate, and turns a Map or a Date into something else.
 *
 * What is judged is a copy, made on the way. It costs less than finding out whether a copy is needed (whether a member
 * is a getter takes 50 ns a member of an array, to copy it 5 ns), and it means that every member of the caller's object
 * is read once, and that nothing the caller does later can change what was judged.
 */

/**
 * Judges the fields of a document and returns a copy of them in their normal form: members that are undefined are
 * dropped, and -0 is 0.
 *
 * @param path of `value` in the request, for errors: "set"
 * @throws InvalidRequestError naming the path of what is not JSON: anything but plain objects, arrays, well-formed
 * strings, booleans, null and finite numbers; an integer beyond +-(2^53 - 1); undefined or a hole in an array; a member
 * named by a symbol or named `__proto__`; nesting beyond `limits.depthMax` levels, the top being the first (a cycle is
 * that, too); a getter that throws, with its error as the cause
 * @throws TooLargeError when there are more values than `limits.fieldsBytesMax`, so that they cannot fit
 */
export function checkFields(value: unknown, path: string, limits: Limits): Fields {
  const checked = checkJson(value, path, limits);
  if (typeof checked !== "object" || checked === null || Array.isArray(checked)) {
    throw new InvalidRequestError(path, `must be an object, not ${kindOf(value)}`);
  }
  return checked;
}

/** The same for any JSON value. @throws as `checkFields` does */
export function checkJson(value: unknown, path: string, limits: Limits): JsonValue {
  return new JsonReader(path, limits).read(value);
}

/** Where the reader is. The path is spelled out only when a fault is reported: good values pay nothing for it. */
interface Place {
  readonly parent: Place | undefined;
  readonly name: string | number;
}

/** One walk over one value. */
class JsonReader {
  readonly #path: string;
  readonly #limits: Limits;
  /** Bounds the walk over an object that refers to the same part again and again: 60 such levels are 2^60 values. */
  #valuesLeft: number;

  constructor(path: string, limits: Limits) {
    this.#path = path;
    this.#limits = limits;
    this.#valuesLeft = limits.fieldsBytesMax;
  }

  read(value: unknown): JsonValue {
    if (typeof value === "object" && value !== null) return this.#container(value, undefined, 1);
    return this.#scalar(value, undefined, undefined);
  }

  /** The one place where code of the caller's may run (getters, proxies), and where what it throws is translated. */
  #container(value: object, place: Place | undefined, depth: number): JsonValue {
    if (depth > this.#limits.depthMax) {
      this.#refuse(place, undefined, `is nested deeper than ${this.#limits.depthMax} levels, or contains itself`);
    }
    try {
      if (isPlainArray(value)) return this.#array(value, place, depth);
      if (isPlainObject(value)) return this.#object(value, place, depth);
    } catch (error) {
      if (error instanceof OnceKvError) throw error;
      throw new InvalidRequestError(this.#spell(place, undefined), "cannot be read", { cause: error });
    }
    this.#refuse(place, undefined, `must be JSON, not ${kindOf(value)}`);
  }

  #object(value: PlainObject, place: Place | undefined, depth: number): Fields {
    const names = Object.keys(value);
    this.#count(names.length);
    this.#refuseSymbols(value, place);
    const copy: Fields = {};
    for (const name of names) {
      if (name === "__proto__") this.#refuse(place, name, "is not allowed as a name");
      if (!isWellFormed(name)) this.#refuse(place, name, "is a name with a lone surrogate");
      const member = value[name];
      if (member === undefined) continue;
      copy[name] =
        typeof member === "object" && member !== null
          ? this.#container(member, { parent: place, name }, depth + 1)
          : this.#scalar(member, place, name);
    }
    return copy;
  }

  #array(value: readonly unknown[], place: Place | undefined, depth: number): JsonValue[] {
    const names = Object.keys(value);
    this.#count(names.length);
    if (names.length !== value.length) this.#refuseUnlike(value, names, place);
    this.#refuseSymbols(value, place);
    const copy: JsonValue[] = [];
    for (let index = 0; index < names.length; index++) {
      const member = value[index];
      copy.push(
        typeof member === "object" && member !== null
          ? this.#container(member, { parent: place, name: index }, depth + 1)
          : this.#scalar(member, place, index),
      );
    }
    return copy;
  }

  #scalar(value: unknown, place: Place | undefined, name: string | number | undefined): JsonValue {
    switch (typeof value) {
      case "string":
        if (!isWellFormed(value)) this.#refuse(place, name, "has a lone surrogate, which no stored text can hold");
        return value;
      case "number":
        // Beyond 2^53 every number is an integer, so that this bound leaves out no fraction.
        if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) return value === 0 ? 0 : value;
        if (!Number.isFinite(value)) this.#refuse(place, name, `must be a finite number, not ${value}`);
        this.#refuse(place, name, "is an integer beyond 2^53 - 1, which is not exact; send it as text");
        break;
      case "boolean":
        return value;
      default:
        if (value === null) return null;
        this.#refuse(place, name, `must be JSON, not ${kindOf(value)}`);
    }
  }

  #count(values: number): void {
    this.#valuesLeft -= values;
    if (this.#valuesLeft < 0) {
      throw new TooLargeError(this.#path, `has more than ${this.#limits.fieldsBytesMax} values`);
    }
  }

  #refuseSymbols(value: object, place: Place | undefined): void {
    for (const symbol of Object.getOwnPropertySymbols(value)) {
      // What is not enumerable is hidden on purpose and belongs to no copy; JSON does not see it either.
      if (!Object.prototype.propertyIsEnumerable.call(value, symbol)) continue;
      this.#refuse(place, undefined, `has a member named by ${String(symbol)}`);
    }
  }

  /** Says what makes an array unlike a list: the first hole, or else a member that has a name. */
  #refuseUnlike(value: readonly unknown[], names: readonly string[], place: Place | undefined): never {
    for (let index = 0; index < value.length; index++) {
      if (!Object.hasOwn(value, index)) this.#refuse(place, index, "is a hole in an array");
    }
    this.#refuse(place, names[value.length], "is a named member of an array");
  }

  #refuse(place: Place | undefined, name: string | number | undefined, problem: string): never {
    throw new InvalidRequestError(this.#spell(place, name), problem);
  }

  #spell(place: Place | undefined, name: string | number | undefined): string {
    if (name !== undefined) return memberPath(this.#spell(place, undefined), name);
    return place === undefined ? this.#path : memberPath(this.#spell(place.parent, undefined), place.name);
  }
}
