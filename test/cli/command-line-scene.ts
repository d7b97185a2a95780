import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Argument, Command, Option } from "commander";
import { buildProgram } from "../../cli/program.js";
import { openStore } from "../../src/index.js";
import { silentTerminal } from "./command-line.js";

/** A folder with a store, a backup and a tokens file, for command lines that are made by rules. */
export class CommandLineScene {
  readonly folder: string;
  readonly data: string;
  #names = 0;

  static async make(folder: string): Promise<CommandLineScene> {
    const scene = new CommandLineScene(folder);
    const store = await openStore({ dataDir: scene.data });
    await store.put({ shape: "note", id: "1", set: { a: 1 } });
    await store.put({ shape: "job", id: "a b", set: { text: "\u001b[2J" } });
    await store.backup(scene.path("kept.okv"));
    await store.close();
    await writeFile(scene.path("fields.json"), '{"from":"a file"}');
    await mkdir(scene.path("foreign"));
    await writeFile(scene.path("foreign/readme.txt"), "of another program");
    return scene;
  }

  private constructor(folder: string) {
    this.folder = folder;
    this.data = join(folder, "data");
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** A path where nothing is. */
  newPath(): string {
    this.#names += 1;
    return this.path(`new-${this.#names}`);
  }

  /** All that a refused command must leave as it is: the documents, and the names and contents of files beside them. */
  async state(): Promise<string> {
    const names = (await readdir(this.folder)).sort();
    const files = names.filter((name) => name.endsWith(".json"));
    const texts = await Promise.all(files.map((name) => readFile(this.path(name), "utf8")));
    const store = await openStore({ dataDir: this.data, sweep: false });
    try {
      return JSON.stringify([names, texts, store.revision]);
    } finally {
      await store.close();
    }
  }

  /** The fields that are stored, or undefined. */
  async fields(shape: string, id: string): Promise<object | undefined> {
    const store = await openStore({ dataDir: this.data, sweep: false });
    try {
      return (await store.getDocument(shape, id))?.fields;
    } finally {
      await store.close();
    }
  }
}

/** A command that does something, with the words by which it is called. */
export interface LeafCommand {
  readonly words: readonly string[];
  readonly command: Command;
}

/** All commands, by the program's own description: one that is new is among them. */
export function leafCommands(): readonly LeafCommand[] {
  const leaves = (command: Command, words: readonly string[]): LeafCommand[] =>
    command.commands.length === 0
      ? [{ words, command }]
      : command.commands.flatMap((nested) => leaves(nested, [...words, nested.name()]));
  return leaves(buildProgram(silentTerminal), []);
}

/** Those that end only when they are told to, if they are not refused. */
export const lasting: ReadonlySet<string> = new Set(["serve", "watch", "guard"]);

/** Values of arguments, by their names. A command with an argument of another name needs one here. */
export function argumentValues(scene: CommandLineScene, { words }: LeafCommand, argument: Argument): readonly string[] {
  const values: { readonly [name: string]: readonly string[] } = {
    shape: ["note", "job"],
    id: ["1", "a b", "-x", "\u00e9/..", "__proto__", "\u001b[31m", "\u0000"],
    json: ['{"a":1}', `@${scene.path("fields.json")}`, "-", '{"constructor":{"\\u0000":[null,-0,1.5e-7]}}'],
    key: ["send:1", "charge:order 7"],
    file: [words[0] === "backup" ? scene.newPath() : scene.path("kept.okv")],
    name: ["worker", "caller"],
    command: [],
  };
  return known(values, argument.name());
}

/** Values of options, by their names; null: it is not used in a line that may go through. */
export function optionValues(
  scene: CommandLineScene,
  { words }: LeafCommand,
  option: Option,
): readonly string[] | null {
  const values: { readonly [name: string]: readonly string[] | null } = {
    data: [words[0] === "restore" ? scene.newPath() : scene.data],
    into: [scene.newPath()],
    url: null,
    token: null,
    tokenFile: null,
    ca: null,
    host: null,
    port: ["0"],
    durability: ["durable"],
    tokens: [scene.path("tokens.json")],
    tlsKey: [scene.path("key.pem")],
    tlsCert: [scene.path("cert.pem")],
    logLevel: ["silent"],
    timeout: ["1"],
    retryFor: ["0"],
    ttl: ["300", "none", "0.5"],
    ifRevision: ["1", "2"],
    ifFields: ['{"a":1}', "{}"],
    writeId: ["w-1", "w-2", scene.newPath()],
    prefix: ["1", ""],
    after: ["0"],
    until: ["2"],
    limit: ["1", "1000"],
    since: ["0"],
    tool: ["send"],
    scope: ["s"],
    status: ["pending", "unknown"],
    for: ["0"],
    by: ["ann"],
    note: ["found it"],
    fingerprint: ["0".repeat(64)],
    remember: ["60"],
    result: ["null", '{"done":true}', "-"],
    error: ["it was refused"],
    read: ["*", "note,job"],
    write: ["note"],
    admin: ["note"],
    expiresAt: ["2030-01-31T12:00:00Z"],
    requestsPerSecond: ["10"],
    requestsAtOnce: ["3"],
    connectionsMax: ["100"],
    requestsMax: ["1"],
    heldBytesMax: ["1000000"],
    waitingEventBytesMax: ["1000000"],
    waitsMax: ["0"],
    streamsMax: ["0"],
    addTo: [scene.path("tokens.json")],
    http: null,
    header: null,
    headerEnv: null,
    leave: ["read_file"],
    guard: ["write_file"],
    policy: ["write_file=refire"],
    errors: ["write_file=failed"],
    window: ["60"],
  };
  return known(values, option.attributeName());
}

function known<Value>(values: { readonly [name: string]: Value }, name: string): Value {
  const value = values[name];
  if (value === undefined) throw new Error(`command lines need a value for ${name}: add it to the scene`);
  return value;
}
