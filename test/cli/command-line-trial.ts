import { isDeepStrictEqual } from "node:util";
import { isGathered } from "../../cli/option-values.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import type { Counts } from "../torture/counts.js";
import type { Trial } from "../torture/trial.js";
import { type Ended, runCli, temporaryFolder } from "./command-line.js";
import {
  argumentValues,
  CommandLineScene,
  type LeafCommand,
  lasting,
  leafCommands,
  optionValues,
} from "./command-line-scene.js";
import { hostileJson, hostileShapes, valueOfWrongType } from "./hostile-values.js";

/** Runs one command line in this process. */
export type RunLine = (args: readonly string[], stdin: string | Buffer) => Promise<Ended>;

/** A command line, and what is known of its end before it runs. */
interface Line {
  readonly args: readonly string[];
  readonly stdin: string | Buffer;
  /** The name of the fault that was put into it; undefined: none, though it may still be refused. */
  readonly fault: string | undefined;
  /** For a put: where to look for its fields. */
  readonly put: { readonly shape: string; readonly id: string } | undefined;
}

const stdinFields = { from: "the standard input" };
const linesMin = 80;
const linesMax = 600;
/** So often there is a put without options or a fault, so that some are compared whatever the seed is. */
const plainPutEvery = 10;

/**
 * Makes command lines by the program's own description, most of them with a fault in them, and runs them against a folder:
 * each ends with a documented exit code and, when it fails, with one line that is no stack, and leaves everything as it was;
 * one with a fault fails with 2; a put that succeeds has stored what it was given.
 *
 * @param run weakened in the test of this machinery
 */
export function commandLineTrial(run: RunLine = runCli): Trial {
  return {
    name: "command line",
    run: async (random) => {
      const folder = await temporaryFolder();
      try {
        return await tryLines(await CommandLineScene.make(folder.path), random, run);
      } finally {
        await folder.remove();
      }
    },
  };
}

async function tryLines(scene: CommandLineScene, random: SeededRandom, run: RunLine): Promise<Counts> {
  const commands = leafCommands();
  const counts = { lines: 0, done: 0, refused: 0, failed: 0, "puts compared": 0 };
  let before = await scene.state();
  while (counts.lines < linesMin || (counts.lines < linesMax && counts.refused < 20)) {
    const line =
      counts.lines % plainPutEvery === 0 ? plainPut(scene, random) : makeLine(scene, random, pick(random, commands));
    const ended = await run(line.args, line.stdin);
    const after = await scene.state();
    const fault = faultOf(line, ended, before === after) ?? (await wrongFields(scene, line, ended));
    if (fault !== undefined) {
      const said = `${ended.stdout.slice(0, 500)}${ended.stderr.slice(0, 500)}`;
      throw new Error(`seed ${random.seed}, line ${counts.lines}: ${fault}: ${shown(line)} said ${said}`);
    }
    counts.lines += 1;
    counts[ended.code === 0 ? "done" : line.fault === undefined ? "failed" : "refused"] += 1;
    if (ended.code === 0 && line.put !== undefined) counts["puts compared"] += 1;
    before = after;
  }
  return counts;
}

/** What is wrong with how a line has ended; undefined: nothing. */
function faultOf({ args, fault }: Line, { code, stdout, stderr }: Ended, isUnchanged: boolean): string | undefined {
  if (code === null || ![0, 1, 2, 3, 4, 5].includes(code)) return `it ended with ${code}`;
  if (/\n\s+at |\bTypeError\b|\bundefined\b/.test(stderr)) return "it said what only a program understands";
  if (fault !== undefined && code !== 2) return `it has the fault "${fault}" and ended with ${code}`;
  if (code === 0) return undefined;
  if (!isUnchanged) return "it failed and changed something";
  if (stdout !== "") return "it failed and printed a result";
  const own = args.slice(0, args.includes("--") ? args.indexOf("--") : undefined);
  const line = own.includes("--json") ? /^\{"type":[^\n]+\}\n$/ : /^oncekv: [^\n]+\n$/;
  return line.test(stderr) ? undefined : "it did not fail with one line";
}

async function wrongFields(scene: CommandLineScene, line: Line, { code }: Ended): Promise<string | undefined> {
  const { put, args } = line;
  if (put === undefined || code !== 0 || args.includes("--write-id")) return undefined;
  const json = args.at(-1) ?? "";
  const fields = json === "-" ? stdinFields : json.startsWith("@") ? { from: "a file" } : (JSON.parse(json) as object);
  const stored = await scene.fields(put.shape, put.id);
  // Through JSON, which has no -0.
  const same = isDeepStrictEqual(JSON.parse(JSON.stringify(stored ?? null)), JSON.parse(JSON.stringify(fields)));
  return same ? undefined : `it stored ${JSON.stringify(stored)}`;
}

function plainPut(scene: CommandLineScene, random: SeededRandom): Line {
  const put = leafCommands().find(({ words }) => words[0] === "put");
  if (put === undefined) throw new Error("there is no command put");
  const values = put.command.registeredArguments.map((argument) => pick(random, argumentValues(scene, put, argument)));
  const [shape = "", id = ""] = values;
  const args = ["put", "--data", scene.data, "--", ...values];
  return { args, stdin: JSON.stringify(stdinFields), fault: undefined, put: { shape, id } };
}

function makeLine(scene: CommandLineScene, random: SeededRandom, leaf: LeafCommand): Line {
  const { words, command } = leaf;
  const options: string[][] = [];
  for (const option of command.options) {
    const values = option.required ? optionValues(scene, leaf, option) : [];
    const needed = option.mandatory || option.attributeName() === "data";
    if (values === null || !(needed || random.below(6) === 0)) continue;
    options.push(option.required ? [`${option.long}`, pick(random, values)] : [`${option.long}`]);
  }
  const places = command.registeredArguments.filter((argument) => argument.required);
  const line = { options, values: places.map((argument) => pick(random, argumentValues(scene, leaf, argument))) };
  const names = places.map((argument) => argument.name());
  let stdin: string | Buffer = JSON.stringify(stdinFields);

  const faults: { [fault: string]: (() => void) | undefined } = {
    "an unknown option": () => void options.push(["--no-such-option"]),
    "an option twice": () => {
      const option = pick(
        random,
        command.options.filter((each) => each.required && !isGathered(each)),
      );
      const values = optionValues(scene, leaf, option) ?? ["x"];
      options.push([`${option.long}`, pick(random, values)], [`${option.long}`, pick(random, values)]);
    },
    "a value that is missing": () => {
      const option = pick(
        random,
        command.options.filter((each) => each.required),
      );
      options.push([`${option.long}`]);
    },
  };
  if (!lasting.has(words[0] ?? "")) {
    if (names.length > 0) faults["a missing argument"] = () => void line.values.pop();
    if (words[0] !== "patch") faults["an argument too many"] = () => void line.values.push("x", "y", "z");
    const typed = command.options.flatMap((option) => {
      const value = valueOfWrongType(option);
      return value === undefined ? [] : [{ option, value }];
    });
    if (typed.length > 0) {
      faults["a value of the wrong type"] = () => {
        const { option, value } = pick(random, typed);
        const others = options.filter(([flag]) => flag !== option.long);
        options.splice(0, options.length, ...others, [`${option.long}`, value]);
      };
    }
    const put = (name: string, value: string) => () => void line.values.splice(names.indexOf(name), 1, value);
    if (names.includes("shape")) faults["a bad shape"] = put("shape", pick(random, hostileShapes));
    if (names.includes("id")) faults["an empty id"] = put("id", "");
    if (names.includes("json")) {
      const [word, text] = pick(random, Object.entries(hostileJson));
      faults[`JSON: ${word}`] = () => {
        stdin = text;
        put("json", typeof text === "string" && random.below(2) === 0 && text !== "-" ? text : "-")();
      };
    }
    if (command.options.some(({ long }) => long === "--data")) {
      faults["an empty folder"] = () => {
        const others = options.filter(([flag]) => flag !== "--data");
        options.splice(0, options.length, ...others, ["--data", pick(random, ["", "~", "~/x"])]);
      };
    }
  }
  const isFaulty = lasting.has(words[0] ?? "") || random.below(3) > 0;
  const [fault, spoil] = isFaulty ? pick(random, Object.entries(faults)) : [undefined, undefined];
  spoil?.();
  const args = [...words, ...options.flat(), "--", ...line.values];
  const [shape = "", id = ""] = line.values;
  return { args, stdin, fault, put: words[0] === "put" ? { shape, id } : undefined };
}

function pick<Value>(random: SeededRandom, values: readonly Value[]): Value {
  const value = values[random.below(values.length)];
  if (value === undefined) throw new Error("there is nothing to choose from");
  return value;
}

function shown({ args }: Line): string {
  return args.map((argument) => JSON.stringify(argument.slice(0, 80))).join(" ");
}
