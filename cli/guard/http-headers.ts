import { InvalidRequestError } from "../../src/base/errors.js";

/**
 * The headers of the command line, by their names.
 *
 * @param given each as `Name: value`
 * @param variables names of environment variables that hold such
 * @throws InvalidRequestError; its message never has a value, which may be a secret
 */
export function readHeaders(
  given: readonly string[],
  variables: readonly string[],
  env: { readonly [name: string]: string | undefined },
): { readonly [name: string]: string } {
  const headers: { [name: string]: string } = {};
  for (const text of given) add(headers, text, "--header");
  for (const variable of variables) {
    const text = env[variable];
    if (text === undefined || text === "")
      throw new InvalidRequestError("", `the variable ${variable} of --header-env is not set`);
    add(headers, text, `the variable ${variable} of --header-env`);
  }
  return headers;
}

function add(headers: { [name: string]: string }, text: string, source: string): void {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidRequestError("", `${source} must be "Name: value"`);
  headers[name] = value;
}
