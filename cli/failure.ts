import { type Problem, toProblem } from "../server/problem.js";
import { errorTable, OnceKvError } from "../src/base/errors.js";
import { PreconditionFailedError } from "../src/documents/precondition-failed.js";
import { shownId, type Terminal } from "./terminal.js";

/** Characters of a document's fields in a sentence; longer ones are left out, `--json` has them. */
const fieldsShown = 200;

const whenUnreachable = "`oncekv serve` starts a server, and --data works on a folder without one";

/** A command's end that is already explained: `verify` has listed its problems. */
export class EndedWith extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** Says what went wrong: one line, or with `--json` the problem as JSON. */
export function reportFailure(terminal: Terminal, error: unknown, asJson: boolean): void {
  terminal.note(asJson ? JSON.stringify(problemOf(error)) : `oncekv: ${sentenceFor(error)}`);
}

/** The error as the server would put it, and with an unknown outcome the id by which to find out. */
function problemOf(error: unknown): Problem & { readonly write_id?: string } {
  if (error instanceof OnceKvError && error.code !== "internal") {
    const problem = toProblem(error, () => true, "");
    return "write_id" in error && typeof error.write_id === "string"
      ? { ...problem, write_id: error.write_id }
      : problem;
  }
  const { status, title, retryable } = errorTable.internal;
  return { type: "urn:oncekv:error:internal", title, status, detail: messageOf(error), code: "internal", retryable };
}

function sentenceFor(error: unknown): string {
  if (error instanceof PreconditionFailedError)
    return `${error.message}; ${error.failures.map(foundInstead).join(", ")}`;
  if (error instanceof OnceKvError && "write_id" in error) return `${messageOf(error)} (--write-id)`;
  if (error instanceof OnceKvError && error.code === "unavailable") return `${messageOf(error)}; ${whenUnreachable}`;
  return messageOf(error);
}

function foundInstead(failure: PreconditionFailedError["failures"][number]): string {
  if (failure.current_omitted === true) return "what is there may not be shown";
  if (failure.current === null) return `there is no ${failure.shape}/${shownId(failure.id)}`;
  const { revision, fields } = failure.current;
  const text = JSON.stringify(fields);
  return `it is at revision ${revision}${text.length <= fieldsShown ? ` with ${text}` : ""}`;
}

/** What the commands call it that has another name in the interface below them. */
const ownNames: { readonly [path: string]: string } = {
  retryFor: "--retry-for",
  completedTtl: "--remember",
  target: "<key>",
  dataDir: "--data",
  tlsKeyFile: "--tls-key",
  tlsCertFile: "--tls-cert",
};

function messageOf(error: unknown): string {
  const text = error instanceof Error && error.message !== "" ? error.message : String(error);
  const message = text.replace(/^(\w+): /, (prefix, path: string) => {
    const name = Object.hasOwn(ownNames, path) ? ownNames[path] : undefined;
    return name === undefined ? prefix : `${name}: `;
  });
  return message.replaceAll(/\s*\n\s*/g, " ");
}
