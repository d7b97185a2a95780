import type { Clock } from "../../../src/base/clock.js";
import type { ToolCallOutcome } from "../../../src/tool-calls/index.js";
import { refuseUnstable } from "../../../src/tools/arguments.js";
import type { EnvelopeOption } from "../../../src/tools/envelope.js";
import type { ToolRefusal } from "../../../src/tools/refusal.js";
import { type Answer, type AnswerForm, answerOfOutcome, answerOfRefusal, type Live } from "./answer.js";
import type { CommandClass } from "./command.js";
import type { Entering } from "./entering.js";
import { passedOf } from "./kept-result.js";
import { memberOf, placeOf } from "./runtime.js";
import { inTurn, nameInTask, type Position, type Task, taskOf } from "./task.js";

/*
 * LangChain's `invoke` validates, tells the callbacks, and runs `_call`; what that returns it makes a message of. So `_call`
 * is where a guard belongs: everything else stays the framework's. Around `call` the guard only completes the message with
 * what a returned value cannot say.
 */

/** How a guarded tool answers. */
export interface AnswerSettings {
  readonly envelope: EnvelopeOption;
  readonly commandClass: CommandClass | undefined;
  readonly clock: Clock;
}

/** What the guard of `oncekv/tools` gives back here: the whole outcome, or a refusal. */
export interface RawAnswer {
  readonly outcome: ToolCallOutcome<unknown>;
}

/** The guarded run of one call. */
export type RunGuarded = (args: unknown, entering: Entering) => Promise<RawAnswer | ToolRefusal>;

/** Functions that guard, also on a copy of their tool: guarded twice, a call would wait for itself. */
const guards = new WeakSet<object>();

/** Whether a tool is guarded. */
export function isGuarded(tool: object): boolean {
  const run: unknown = Reflect.get(tool, "_call");
  return typeof run === "function" && guards.has(run);
}

/** The tool with its calls guarded, of the same class and with everything else as it is. */
export function guardedTool<T extends object>(tool: T, runGuarded: RunGuarded, settings: AnswerSettings): T {
  const enter = (input: unknown, manager?: unknown, config?: unknown): Promise<Answer> =>
    run({ tool, runGuarded, settings, input, manager, config });
  const output = async (...given: Parameters<typeof enter>): Promise<unknown> =>
    (await inTurn(given[2], () => enter(...given))).output;
  guards.add(output);

  // The place in the task is taken before anything is waited for.
  const call = (...given: unknown[]): Promise<unknown> => inTurn(given[1], () => callNow(given));

  async function callNow(given: unknown[]): Promise<unknown> {
    let dress: Answer["dress"];
    const once: object = Object.create(guarded, {
      _call: {
        value: async (...each: Parameters<typeof enter>) => {
          await refuseUnstable(memberOf(tool, "schema"), writtenBy(given[0]), settings.clock.wallNow());
          const answer = await enter(...each);
          dress = answer.dress;
          return answer.output;
        },
      },
    });
    const original: unknown = Reflect.get(tool, "call");
    const message: unknown = await Reflect.apply(original as () => unknown, once, given);
    return dress === undefined ? message : dressed(message, dress);
  }

  const replaced = { value: output, configurable: true, writable: true };
  const guarded: T = Object.create(Object.getPrototypeOf(tool), {
    ...accessorsOf(tool),
    ...Object.getOwnPropertyDescriptors(tool),
    _call: replaced,
    call: { ...replaced, value: call },
    // What `tool()` keeps under this name takes the same parameters, and would be a way around the guard.
    ...(Object.hasOwn(tool, "func") ? { func: { ...replaced, enumerable: true } } : {}),
  });
  return guarded;
}

/** The accessors of a tool's class, asked of the tool itself: they may read private fields, which no other object has. */
function accessorsOf(tool: object): PropertyDescriptorMap {
  const accessors: PropertyDescriptorMap = {};
  let prototype: object | null = Object.getPrototypeOf(tool);
  for (; prototype !== null && prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, { get, set }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if ((get === undefined && set === undefined) || Object.hasOwn(accessors, name)) continue;
      accessors[name] = {
        get: () => Reflect.get(tool, name),
        set: (value) => Reflect.set(tool, name, value),
        configurable: true,
      };
    }
  }
  return accessors;
}

/** What the model wrote, which comes as it is or as a part of its call. */
function writtenBy(given: unknown): unknown {
  return memberOf(given, "type") === "tool_call" ? memberOf(given, "args") : given;
}

interface Run {
  readonly tool: object;
  readonly runGuarded: RunGuarded;
  readonly settings: AnswerSettings;
  readonly input: unknown;
  readonly manager: unknown;
  readonly config: unknown;
}

async function run({ tool, runGuarded, settings, input, manager, config }: Run): Promise<Answer> {
  const { threadId, toolCallId, signal } = placeOf(config);
  const inPairs = memberOf(tool, "responseFormat") === "content_and_artifact";
  const form: AnswerForm = { ...settings, inPairs, toolCallId };
  const leaving = new AbortController();
  const leave = (): void => leaving.abort(signal?.reason);
  const stopListening = (): void => signal?.removeEventListener("abort", leave);
  if (signal?.aborted === true) leave();
  signal?.addEventListener("abort", leave);
  let live: Live | undefined;
  const task = taskOf(config);
  const name = nameInTask(String(memberOf(tool, "name")), toolCallId, input);
  let begun: Position | undefined;
  const entering: Entering = {
    tool_call_id: toolCallId,
    thread_id: threadId,
    signal: leaving.signal,
    input,
    manager,
    config,
    inPairs,
    commandClass: settings.commandClass,
    onEnter: () => {
      stopListening();
      task?.forgetEnd(name);
      const position = task?.position() ?? [];
      begun = position;
      return () => task?.passedSince(position);
    },
    onResult: (result) => {
      live = result;
    },
  };
  try {
    const answer = await orLeft(runGuarded(input, entering), signal);
    if (task !== undefined) keepOrder(task, answer, name, begun);
    return "refused" in answer ? answerOfRefusal(answer, form) : answerOfOutcome(answer.outcome, live, form);
  } finally {
    stopListening();
  }
}

/** @param begun where the task stood when the tool was entered; undefined: it was not, by this caller */
function keepOrder(task: Task, answer: RawAnswer | ToolRefusal, name: string, begun: Position | undefined): void {
  const outcome = "refused" in answer ? undefined : answer.outcome;
  const isKept = outcome !== undefined && outcome.result_omitted === undefined;
  if (begun === undefined) {
    task.passMarkedEnd(name);
    if (isKept) task.passOver(outcome.key, passedOf(outcome.result));
    return;
  }
  if (!isKept) task.markEnd(name, begun);
  if (outcome !== undefined) task.noteCounted(outcome.key);
}

/** The caller may leave at any time; the call goes on, and its outcome is recorded. */
function orLeft<R>(running: Promise<R>, signal: AbortSignal | undefined): Promise<R> {
  if (signal === undefined) return running;
  return new Promise<R>((resolve, reject) => {
    const leave = (): void => reject(signal.reason);
    signal.addEventListener("abort", leave);
    running.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    if (signal.aborted) leave();
  });
}

/** Completes the message that the framework made; what is no message is left as it is. */
function dressed(message: unknown, members: { readonly [name: string]: unknown }): unknown {
  if (memberOf(message, "lc_direct_tool_output") !== true) return message;
  Object.assign(Object(message), members);
  // The framework writes a message by the names that stand here.
  const written = memberOf(message, "lc_kwargs");
  if (typeof written === "object" && written !== null) Object.assign(written, members);
  return message;
}
