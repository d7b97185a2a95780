import { createHash } from "node:crypto";
import { chmod, mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { InvalidRequestError } from "../../src/base/errors.js";

/*
 * What the calls of one server are kept under: a name for people, and a hash of what the server is. Two servers with tools of
 * the same names are apart, and the same server started again is the same. The working folder counts too: `node server.js`
 * in two places is two servers. So do the query and the headers for an address, which say for whom the server acts: nobody
 * must get the result of somebody else's call. What a started server reads from its environment is not looked at, since most
 * of that is new at each start; who starts one server for several accounts gives each a scope.
 */

/** What is served: a command started in a folder, or an address with headers for each request. */
export type ServerSource =
  | { readonly command: readonly string[]; readonly folder: string }
  | { readonly url: URL; readonly headers: { readonly [name: string]: string } };

/** Names that say nothing of the server: of whatever starts it. */
const starters = new Set([
  "npx",
  "npm",
  "exec",
  "node",
  "nodejs",
  "bun",
  "bunx",
  "deno",
  "run",
  "uv",
  "uvx",
  "python",
  "python3",
  "docker",
  "env",
  "sh",
  "bash",
]);

/**
 * The name of a server, of characters that files and keys may have. Of secrets it shows nothing but a hash.
 *
 * @param scope given by hand, it stands for the account: then the query and the headers, which may change, do not count
 */
export function serverName(source: ServerSource, scope?: string): string {
  const word = "url" in source ? source.url.host : wordOf(source.command);
  const hash = createHash("sha256")
    .update(JSON.stringify(identityOf(source, scope)))
    .digest("hex")
    .slice(0, 12);
  const readable = word
    .replaceAll(/[^a-zA-Z0-9.-]+/g, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "")
    .slice(0, 40);
  return readable === "" ? hash : `${readable}-${hash}`;
}

/** Where the calls of a server are kept unless something else is said, as the XDG base directories have it. */
export function defaultFolder(name: string, env: { readonly [name: string]: string | undefined }): string {
  const given = env["XDG_STATE_HOME"];
  // A relative one is to be ignored.
  const state = given !== undefined && isAbsolute(given) ? given : join(homedir(), ".local", "state");
  return join(state, "oncekv", "guard", name);
}

/** Makes such a folder, for this user alone: it holds the arguments of calls. One that is there is closed to others. */
export async function makeDefaultFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
}

/** @throws InvalidRequestError when it is no address of a server over HTTP */
export function readAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new InvalidRequestError(
      "",
      `--http must be an address that begins with http:// or https://, not ${JSON.stringify(text)}`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidRequestError("", "--http must not hold a password, which others can see; use --header-env");
  }
  return url;
}

/** The first word of a command that is neither an option nor what starts others; the last part of a path or of a package. */
function wordOf(command: readonly string[]): string {
  // An assignment in front of a command, or after an option, may be that of a secret.
  const words = command.filter((word) => !word.startsWith("-") && !word.includes("=")).map(lastWord);
  return words.find((word) => !starters.has(word)) ?? words[0] ?? "";
}

/** The last part of a path that says something: of `/opt/mail-server/dist/index.js` that is `mail-server`. */
function lastWord(path: string): string {
  const parts = path.split(/[/\\]/).filter((part) => part !== "");
  return (
    parts.findLast((part) => !/^(?:(?:index|main|server)\.[cm]?[jt]sx?|dist|build|lib|bin|src)$/.test(part)) ?? path
  );
}

/** As a value in which no two different servers look alike. */
function identityOf(source: ServerSource, scope: string | undefined): readonly unknown[] {
  if ("command" in source) return [source.command, source.folder, ...(scope === undefined ? [] : [scope])];
  const { origin, pathname, search } = source.url;
  if (scope !== undefined) return [origin, pathname, scope];
  const headers = Object.entries(source.headers).map(([name, value]) => [name.toLowerCase(), value]);
  return [origin, pathname, search, headers.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1))];
}
