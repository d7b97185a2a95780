import type { Fields, JsonValue } from "../../../src/documents/contract.js";
import { isPlainArray, isPlainObject } from "../../../src/documents/plain-object.js";
import { memberOf } from "./runtime.js";

/*
 * A Command is what a tool returns that moves the graph and changes its state. It is no JSON, but is made of it, of messages
 * and of Sends, and the framework knows one by its shape. So it is kept as JSON and made again on a replay. Only a Send must
 * be of the framework's own class, which its Command makes of a plain one: where a tool returns Sends, the class is needed.
 */

/** The framework's class, given by the user. */
export type CommandClass = new (parts: never) => object;

/** A Command as it is kept. Messages are in the form in which the framework writes and accepts them. */
export interface KeptCommand {
  readonly graph?: JsonValue;
  readonly update?: JsonValue;
  readonly goto: JsonValue;
}

/** Something that a Command holds and that JSON cannot give back. */
export class NotKeepable extends Error {}

/** Whether a value is a Command, as the framework itself tells. */
export function isCommand(value: unknown): value is object {
  return (
    typeof value === "object" && value !== null && !isPlainObject(value) && memberOf(value, "lg_name") === "Command"
  );
}

/** @param classGiven whether Sends can be made again @throws NotKeepable */
export function keptCommand(command: object, classGiven: boolean): KeptCommand {
  const [graph, update] = ["graph", "update"].map((name) => plainOf(memberOf(command, name)));
  const goto = memberOf(command, "goto");
  if (memberOf(command, "resume") !== undefined) throw new NotKeepable("it resumes");
  const sends = (Array.isArray(goto) ? goto : [goto]).some((target) => typeof target === "object");
  if (sends && !classGiven) throw new NotKeepable("it has Sends");
  return {
    ...(graph === undefined ? {} : { graph }),
    ...(update === undefined ? {} : { update }),
    goto: plainOf(goto) ?? [],
  };
}

/**
 * The Command again.
 *
 * @param answers what becomes of the messages in it that answer the call
 */
export function revivedCommand(
  kept: KeptCommand,
  commandClass: CommandClass | undefined,
  answers: (message: Fields) => Fields,
): object {
  const { graph, update, goto } = kept;
  const parts = { graph, update: update === undefined ? undefined : withMessages(update, answers), goto };
  return commandClass === undefined ? new RevivedCommand(parts) : new commandClass(parts as never);
}

/** What a tool threw to move the graph above its own. */
export function isParentCommand(error: unknown): error is { readonly command: object } {
  return memberOf(error, "name") === "ParentCommand" && isCommand(memberOf(error, "command"));
}

/** The same again, with the members by which the framework knows it. */
export class RevivedParentCommand extends Error {
  readonly is_bubble_up = true;
  command: object;

  constructor(command: object) {
    super();
    this.name = "ParentCommand";
    this.command = command;
  }
}

/** What the framework looks at of a Command, wherever it meets one. */
class RevivedCommand {
  readonly lg_name = "Command";
  readonly lc_direct_tool_output = true;
  readonly graph: JsonValue | undefined;
  readonly update: JsonValue | undefined;
  readonly resume: undefined = undefined;
  readonly goto: readonly JsonValue[];

  constructor({ graph, update, goto }: { [K in keyof KeptCommand]: JsonValue | undefined }) {
    this.graph = graph;
    this.update = update;
    this.goto = Array.isArray(goto) ? goto : [goto ?? []].flat();
  }

  _updateAsTuples(): readonly unknown[] {
    const { update } = this;
    if (isPlainObject(update)) return Object.entries(update);
    const inTuples =
      Array.isArray(update) && update.every((each) => Array.isArray(each) && typeof each[0] === "string");
    return inTuples ? update : [["__root__", update]];
  }

  toJSON(): object {
    return { lg_name: this.lg_name, update: this.update, goto: this.goto };
  }
}

/** @throws NotKeepable for what would not come back as what it is */
function plainOf(value: unknown): JsonValue | undefined {
  if (value === undefined || value === null) return value;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  if (isPlainArray(value)) return value.map((each) => plainOf(each) ?? null);
  if (isPlainObject(value)) return plainMembers(value);
  const isMessage = memberOf(value, "lc_serializable") === true;
  const isOwn = memberOf(value, "lg_name") === "Send" || memberOf(value, "lg_name") === "Overwrite";
  if (isMessage || isOwn) {
    const toJson = memberOf(value, "toJSON");
    if (typeof toJson === "function") return plainMembers(Reflect.apply(toJson, value, []) as object);
  }
  throw new NotKeepable("it holds what is no JSON");
}

function plainMembers(value: object): Fields {
  const members: Fields = {};
  for (const [name, member] of Object.entries(value)) {
    const plain = plainOf(member);
    if (plain !== undefined) members[name] = plain;
  }
  return members;
}

/** A copy in which the messages of tools are changed. */
function withMessages(value: JsonValue, change: (message: Fields) => Fields): JsonValue {
  if (Array.isArray(value)) return value.map((each) => withMessages(each, change));
  if (typeof value !== "object" || value === null) return value;
  const { lc, id, kwargs } = value;
  if (lc === 1 && Array.isArray(id) && id.at(-1) === "ToolMessage" && isPlainObject(kwargs)) {
    return { ...value, kwargs: change(kwargs as Fields) };
  }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withMessages(member, change)]));
}
