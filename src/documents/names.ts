import { InvalidRequestError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import { kindOf } from "./value-kind.js";
import { isWellFormed } from "./well-formed.js";

const shapePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Whether a text can be the name of a shape. */
export function isShape(text: string): boolean {
  return shapePattern.test(text);
}

/** Judges the name of a shape and returns it. @throws InvalidRequestError */
export function checkShape(value: unknown, path: string): string {
  if (typeof value !== "string") throw new InvalidRequestError(path, `must be a string, not ${kindOf(value)}`);
  if (!shapePattern.test(value)) {
    throw new InvalidRequestError(
      path,
      "must be 1 to 64 characters of a-z, 0-9, '.', '_' and '-', and begin with a letter or a digit",
    );
  }
  return value;
}

/**
 * Judges a document's id and returns it. Code points are kept as they are: two ids that look alike but differ in their
 * Unicode normal form are two ids.
 *
 * @throws InvalidRequestError
 */
export function checkId(value: unknown, path: string, limits: Limits): string {
  const id = checkIdPart(value, path, limits);
  if (id === "") throw new InvalidRequestError(path, "must not be empty");
  return id;
}

/** Judges a text that ids are compared with, a prefix or a bound: as an id, but it may be empty. @throws InvalidRequestError */
export function checkIdPart(value: unknown, path: string, limits: Limits): string {
  if (typeof value !== "string") throw new InvalidRequestError(path, `must be a string, not ${kindOf(value)}`);
  if (!isWellFormed(value)) throw new InvalidRequestError(path, "has a lone surrogate");
  if (!fitsInBytes(value, limits.idBytesMax)) {
    throw new InvalidRequestError(path, `must be at most ${limits.idBytesMax} bytes of UTF-8`);
  }
  return value;
}

/** Judges a write id and returns it. Its length is counted in UTF-16 code units. @throws InvalidRequestError */
export function checkWriteId(value: unknown, path: string, limits: Limits): string {
  if (typeof value !== "string") throw new InvalidRequestError(path, `must be a string, not ${kindOf(value)}`);
  if (value === "" || value.length > limits.writeIdLengthMax) {
    throw new InvalidRequestError(path, `must be 1 to ${limits.writeIdLengthMax} characters`);
  }
  if (!isWellFormed(value)) throw new InvalidRequestError(path, "has a lone surrogate");
  return value;
}

/** A UTF-16 code unit takes one to three bytes, so that most texts need no counting. */
function fitsInBytes(text: string, bytesMax: number): boolean {
  if (text.length * 3 <= bytesMax) return true;
  return text.length <= bytesMax && utf8Length(text) <= bytesMax;
}

function utf8Length(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    // A pair of surrogates takes four bytes: two for each.
    else bytes += unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
  }
  return bytes;
}
