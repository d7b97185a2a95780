import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

type Engine = Pick<typeof import("../src/index.js"), "openStore">;
type ClientCode = Pick<typeof import("../client/index.js"), "createClient">;
type ToolCallCode = Pick<typeof import("../src/tool-calls/index.js"), "toolCalls">;

/** The code that is measured. */
export interface PackageCode {
  readonly openStore: Engine["openStore"];
  readonly createClient: ClientCode["createClient"];
  readonly toolCalls: ToolCallCode["toolCalls"];
  /** What Node is started with to run the package's command line: its own arguments and the file. */
  readonly commandLine: readonly string[];
}

export type CodeForm = "built" | "sources";

/** There is no built package, or it is older than its sources. The message says what to do. */
export class NotBuiltError extends Error {
  override readonly name = "NotBuiltError";
}

const root = new URL("../", import.meta.url);

/**
 * Loads the code that is measured.
 *
 * Measurements take the built package, because that is what users run, and because running TypeScript through tsx is not
 * the same code: it wraps every function that has a name in a call that defines this name, also those that a write makes
 * on its way, which costs a tenth of a microsecond or more each.
 *
 * @throws NotBuiltError
 */
export async function loadPackage(form: CodeForm): Promise<PackageCode> {
  if (form === "sources") {
    const { openStore } = await import("../src/index.js");
    const { createClient } = await import("../client/index.js");
    const { toolCalls } = await import("../src/tool-calls/index.js");
    return { openStore, createClient, toolCalls, commandLine: await commandLineOf(form) };
  }
  const commandLine = await commandLineOf(form);
  const engine = (await import(new URL("dist/src/index.js", root).href)) as Engine;
  const client = (await import(new URL("dist/client/index.js", root).href)) as ClientCode;
  const calls = (await import(new URL("dist/src/tool-calls/index.js", root).href)) as ToolCallCode;
  return {
    openStore: engine.openStore,
    createClient: client.createClient,
    toolCalls: calls.toolCalls,
    commandLine,
  };
}

/** What Node is started with to run the command line. @throws NotBuiltError */
export async function commandLineOf(form: CodeForm): Promise<readonly string[]> {
  if (form === "sources") return ["--import", "tsx", pathOf("cli/main.ts")];
  const { bin } = JSON.parse(await readFile(new URL("package.json", root), "utf8")) as { bin: { oncekv: string } };
  await checkBuildIsNew(bin.oncekv);
  return [pathOf(bin.oncekv)];
}

async function checkBuildIsNew(executable: string): Promise<void> {
  const built = await stat(new URL(executable, root)).catch(() => undefined);
  if (built === undefined) throw new NotBuiltError("the package is not built: run `npm run build` first");
  for (const folder of ["src", "server", "client", "cli"]) {
    for (const entry of await readdir(new URL(folder, root), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      if ((await stat(file)).mtimeMs <= built.mtimeMs) continue;
      throw new NotBuiltError(`${file} is newer than the built package: run \`npm run build\` first`);
    }
  }
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, root));
}
