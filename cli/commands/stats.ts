import type { Command } from "commander";
import { Client, request } from "undici";
import { parseAddress, unreachableMessage } from "../../client/address.js";
import { parseObject, reviveProblem } from "../../client/problem.js";
import { OnceKvError } from "../../src/base/errors.js";
import { addTargetOptions, type ServerTarget, type TargetOptions, withTarget } from "../target.js";
import { printJson, type Terminal } from "../terminal.js";

export function addStatsCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("stats")
    .description("show numbers and bounds of the store")
    .addHelpText(
      "after",
      `
Examples:
  oncekv stats
  oncekv stats --json | jq .store.revision`,
    );
  addTargetOptions(command).action((options: TargetOptions) =>
    withTarget(command, options, { create: false, sweep: false }, async (target) => {
      const stats =
        target.kind === "server"
          ? await askServer(target)
          : { store: target.store.stats(), limits: inSnakeCase(target.store.limits) };
      if (options.json === true) return printJson(terminal, stats);
      const lines = flatten(stats, "");
      const width = Math.max(0, ...lines.map(([name]) => name.length));
      for (const [name, value] of lines) await terminal.print(`${name.padEnd(width)}  ${value}`);
    }),
  );
}

/** The numbers are not a part of the document interface, so that the client has no method for them. */
async function askServer({ url, token, ca, timeout }: ServerTarget): Promise<object> {
  const address = parseAddress(url);
  const connection = new Client(address.origin, ca === undefined ? {} : { connect: { ca } });
  let status: number;
  let body: string;
  try {
    const answer = await request(`${address.origin}${address.basePath}/v1/stats`, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(Math.ceil(timeout * 1000)),
      dispatcher: connection,
    });
    status = answer.statusCode;
    body = await answer.body.text();
  } catch (error) {
    throw new OnceKvError("unavailable", unreachableMessage(address, error), { cause: error });
  } finally {
    await connection.destroy();
  }
  const stats = status === 200 ? parseObject(body) : undefined;
  if (stats === undefined) throw reviveProblem(status, body, { host: address.host });
  return stats;
}

/** As the server names them. */
function inSnakeCase(members: object): object {
  const renamed = Object.entries(members).map(([name, value]: [string, unknown]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  return Object.fromEntries(renamed) as object;
}

/** Nested members as `store.revision`. */
function flatten(value: object, prefix: string): [string, string][] {
  return Object.entries(value).flatMap(([name, member]: [string, unknown]): [string, string][] =>
    typeof member === "object" && member !== null
      ? flatten(member, `${prefix}${name}.`)
      : [[`${prefix}${name}`, String(member)]],
  );
}
