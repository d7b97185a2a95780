import { InvalidRequestError } from "../base/errors.js";

/*
 * The header `Idempotency-Key` as clients send it. The IETF draft makes it a quoted string ("8e03978e"); most clients send
 * the bare key. Both name the same key.
 */

const headerName = "idempotency-key";

/** The bound that other services put on a key. */
const keyLengthMax = 255;

/** Printable ASCII with no space at its ends. */
const bare = /^[!-~](?:[ -~]*[!-~])?$/;

/** A string of RFC 8941, without parameters: none are defined, and one that was passed over might have mattered. */
const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/**
 * The key that a request brings; undefined when it brings none.
 *
 * @param rawHeaders names and values in turn, as Node gives them: in its joined form two headers would make a third key
 * @throws InvalidRequestError when it is malformed, empty, longer than 255 characters, or given twice
 */
export function readKeyHeader(rawHeaders: readonly string[]): string | undefined {
  const values = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === headerName,
  );
  const [value] = values;
  if (value === undefined) return undefined;
  if (values.length > 1) throw refused("is given more than once");
  const key = readKey(value.trim());
  if (key.length > keyLengthMax) throw refused(`must be at most ${keyLengthMax} characters, not ${key.length}`);
  return key;
}

function readKey(value: string): string {
  if (value === "" || value === '""') throw refused("must not be empty");
  if (value.startsWith('"')) {
    const inner = quoted.exec(value)?.[1];
    if (inner === undefined) throw refused("is not a well-formed quoted string");
    return inner.replace(/\\(["\\])/g, "$1");
  }
  if (!bare.test(value)) throw refused("must be printable ASCII characters");
  return value;
}

function refused(problem: string): InvalidRequestError {
  return new InvalidRequestError("Idempotency-Key", problem);
}
