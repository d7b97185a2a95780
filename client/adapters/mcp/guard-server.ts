import { InvalidRequestError } from "../../../src/base/errors.js";
import { kindOf } from "../../../src/documents/value-kind.js";
import type { ToolCalls } from "../../../src/tool-calls/index.js";
import { explainTools, type ToolAnnotations, type ToolClassification } from "../../../src/tools/index.js";
import { guardHandler, type McpHandler } from "./guarded-handler.js";
import { KeyField } from "./key-field.js";
import { type McpGuardOptions, type McpGuardSettings, resolveMcpGuardOptions } from "./options.js";
import {
  type GuardTool,
  handlerOf,
  type RegisteredToolLike,
  RegisteredToolWatch,
  type WatchedTool,
} from "./registered-tool.js";
import { stableValidation } from "./stable-input.js";

/** An `McpServer` of either generation of the SDK. */
export interface McpServerLike {
  registerTool(...args: never[]): unknown;
  connect(...args: never[]): Promise<unknown>;
}

/** A server under guard. */
export interface McpGuard<S extends McpServerLike = McpServerLike> {
  /** The same server. */
  readonly server: S;
  /** What is done with each tool that is registered now, by its name, and why. @throws as `check` */
  explain(): { readonly [tool: string]: ToolClassification };
  /**
   * Asks whether every name in the options is the name of a tool; `connect` does so too, unless tools come later.
   *
   * @throws InvalidRequestError naming the one that is none, and when a tool came that cannot be guarded
   */
  check(): void;
}

/**
 * Puts the tools of an MCP server under a guard, so that each intent fires once: those that are registered already, and
 * those to come. Only tools with side effects are guarded; `explain` says which, and why.
 *
 * @param server an `McpServer` of `@modelcontextprotocol/sdk` 1 or `@modelcontextprotocol/server` 2
 * @throws InvalidRequestError when an option is wrong, when the server is guarded already, and, as `registerTool` and
 * `update` do from then on, when a tool has side effects and cannot be guarded
 */
export function guardMcpServer<S extends McpServerLike>(
  server: S,
  calls: ToolCalls,
  options: McpGuardOptions = {},
): McpGuard<S> {
  const guard = new ServerGuard(server, calls, resolveMcpGuardOptions(options));
  return { server, explain: () => guard.explain(), check: () => guard.check() };
}

const guardedServers = new WeakSet<object>();

/** A tool that was registered before its guard came. */
interface GuardedRegistration {
  readonly guard: GuardTool;
  readonly own: McpHandler;
  readonly placed: McpHandler;
}

class ServerGuard {
  readonly #server: McpServerLike;
  readonly #name: string;
  readonly #calls: ToolCalls;
  readonly #settings: McpGuardSettings;
  /** Also those that were removed: they may come back, and must not be guarded twice. */
  readonly #tools = new WeakMap<object, RegisteredToolWatch>();
  readonly #keyField: KeyField | undefined;

  constructor(server: McpServerLike, calls: ToolCalls, settings: McpGuardSettings) {
    const { keyField } = settings;
    this.#server = checkServer(server);
    this.#name = nameOf(server);
    this.#calls = calls;
    this.#settings = settings;
    this.#keyField =
      keyField === undefined
        ? undefined
        : new KeyField(keyField, server, {
            isGuarded: (name) => this.#isGuarded(name),
            windowOf: (name) => settings.rules[name]?.times?.completedTtl ?? calls.completedTtl,
          });
    // Before anything is patched: a server that is refused must not be half guarded.
    for (const [name, tool] of this.#registered()) this.#guardOf(name, tool);
    guardedServers.add(server);
    this.check({ names: false });
    this.#patch();
  }

  explain(): { readonly [tool: string]: ToolClassification } {
    this.#adopt();
    const { rules, leave } = this.#settings;
    const tools = this.#registered().map(([name, tool]) => ({
      name,
      annotations: tool.annotations,
      // A handler of tasks is there only when it is left alone.
      ...(typeof handlerOf(tool) === "function" ? { execute: () => undefined } : {}),
    }));
    return explainTools(tools, { rules, leave: [...leave] });
  }

  check({ names }: { readonly names: boolean } = { names: true }): void {
    this.#adopt();
    this.#keyField?.attach();
    if (names) this.explain();
  }

  #patch(): void {
    const server = this.#server;
    const { registerTool, connect } = methodsOf(server);
    replace(server, "registerTool", (name: unknown, config: unknown, ...rest: readonly unknown[]) => {
      const described = { annotations: annotationsOf(config), inputSchema: memberOf(config, "inputSchema") };
      return this.#register(String(name), described, rest[0], (placed) =>
        registerTool(name, config, placed, ...rest.slice(1)),
      );
    });
    replace(server, "connect", async (...args: readonly unknown[]) => {
      this.check({ names: !this.#settings.toolsComeLater });
      return connect(...args);
    });
    const isGuarded = (tool: unknown): boolean => isObject(tool) && this.#isGuardedTool(tool);
    const validate = stableValidation(server, isGuarded, this.#settings.clock);
    if (validate !== undefined) replace(server, "validateToolInput", validate);
    this.#patchDeprecatedTool();
    this.#patchTasks();
  }

  /** `tool(name, description?, schema?, annotations?, handler)` of the first generation: what is what, the SDK finds out. */
  #patchDeprecatedTool(): void {
    const tool: unknown = Reflect.get(this.#server, "tool");
    if (typeof tool !== "function") return;
    replace(this.#server, "tool", (...args: readonly unknown[]) => {
      const registered = checkRegistered(String(args[0]), Reflect.apply(tool, this.#server, args));
      try {
        this.#adopt();
      } catch (error) {
        registered.update({ name: null });
        throw error;
      }
      this.#keyField?.attach();
      return registered;
    });
  }

  /** Tools that answer with a task and work on behind it (experimental in the first generation) are refused. */
  #patchTasks(): void {
    const tasks = memberOf(memberOf(this.#server, "experimental"), "tasks");
    const registerToolTask = memberOf(tasks, "registerToolTask");
    if (!isObject(tasks) || typeof registerToolTask !== "function") return;
    replace(tasks, "registerToolTask", (name: unknown, config: unknown, ...rest: readonly unknown[]) => {
      this.#refuseUnguardable(String(name), annotationsOf(config), rest[0]);
      return Reflect.apply(registerToolTask, tasks, [name, config, ...rest]);
    });
  }

  /** Guards a tool on its way into the SDK, so that it is never there unguarded. */
  #register(
    name: string,
    described: Omit<WatchedTool, "name">,
    handler: unknown,
    register: (placed: unknown) => unknown,
  ): unknown {
    if (typeof handler !== "function") return register(handler);
    const own = handler as McpHandler;
    let registered: RegisteredToolLike | undefined;
    const guard = this.#guard(() => registered);
    const placed = guard({ name, ...described }, own);
    const result = register(placed);
    registered = checkRegistered(name, result);
    this.#tools.set(registered, new RegisteredToolWatch(name, registered, guard, own, placed));
    this.#keyField?.attach();
    return result;
  }

  /** Guards whatever was registered in another way: before, or past the methods of this server. */
  #adopt(): void {
    for (const [name, tool] of this.#registered()) {
      const watched = this.#tools.get(tool);
      if (watched !== undefined) {
        watched.judge();
        continue;
      }
      const guarded = this.#guardOf(name, tool);
      if (guarded === undefined) continue;
      const { guard, own, placed } = guarded;
      this.#tools.set(tool, new RegisteredToolWatch(name, tool, guard, own, placed));
    }
  }

  /** undefined: it is a tool of tasks, and left alone. @throws InvalidRequestError when it cannot be guarded */
  #guardOf(name: string, tool: RegisteredToolLike): GuardedRegistration | undefined {
    const { annotations, inputSchema } = tool;
    const handler = handlerOf(tool);
    this.#refuseUnguardable(name, annotations, handler);
    if (typeof handler !== "function") return undefined;
    const own = handler as McpHandler;
    const guard = this.#guard(() => tool);
    return { guard, own, placed: guard({ name, annotations, inputSchema }, own) };
  }

  #guard(registered: () => RegisteredToolLike | undefined): GuardTool {
    const calls = this.#calls;
    const settings = this.#settings;
    const registration = {};
    return (tool, handler) => {
      const { name, annotations, inputSchema } = tool;
      if (!this.#judge(name, annotations).sideEffect) return handler;
      this.#keyField?.checkSchema(name, inputSchema);
      const hasOutputSchema = (): boolean => registered()?.outputSchema !== undefined;
      return guardHandler({
        name,
        server: this.#name,
        registration,
        handler,
        annotations,
        hasOutputSchema,
        calls,
        settings,
      });
    };
  }

  #judge(name: string, annotations: ToolAnnotations | undefined): ToolClassification {
    const { rules, leave } = this.#settings;
    const rule = rules[name];
    const explained = explainTools([{ name, annotations, execute: () => undefined }], {
      ...(rule === undefined ? {} : { rules: { [name]: rule } }),
      ...(leave.has(name) ? { leave: [name] } : {}),
    });
    const classification = explained[name];
    if (classification === undefined) throw new InvalidRequestError("tools", `lost ${JSON.stringify(name)}`);
    return classification;
  }

  #refuseUnguardable(name: string, annotations: ToolAnnotations | undefined, handler: unknown): void {
    if (typeof handler === "function" || !this.#judge(name, annotations).sideEffect) return;
    throw new InvalidRequestError(
      "tools",
      `${JSON.stringify(name)} answers with a task and has side effects, which cannot be guarded here: register it as ` +
        "a plain tool, or name it in `leave`",
    );
  }

  #isGuarded(name: string): boolean {
    const tool = this.#registered().find(([each]) => each === name)?.[1];
    return tool !== undefined && this.#isGuardedTool(tool);
  }

  #isGuardedTool(tool: object): boolean {
    return this.#tools.get(tool)?.isGuarded === true;
  }

  #registered(): readonly (readonly [string, RegisteredToolLike])[] {
    const tools: unknown = Reflect.get(this.#server, "_registeredTools");
    return Object.entries(tools as { readonly [name: string]: RegisteredToolLike });
  }
}

/** @throws InvalidRequestError when what is registered on it cannot be seen: a tool might be unguarded, and nobody know */
function checkServer(server: unknown): McpServerLike {
  if (!isObject(server) || !("registerTool" in server) || typeof server.registerTool !== "function") {
    throw new InvalidRequestError("server", `must be an McpServer, not ${kindOf(server)}`);
  }
  if (!isObject(Reflect.get(server, "_registeredTools"))) {
    throw new InvalidRequestError("server", "keeps its tools where they cannot be seen: its version is not known here");
  }
  if (guardedServers.has(server)) throw new InvalidRequestError("server", "is guarded already");
  return server as McpServerLike;
}

/** @throws InvalidRequestError when it cannot be seen: the tools of two servers would be the same */
function nameOf(server: McpServerLike): string {
  const name = memberOf(memberOf(memberOf(server, "server"), "_serverInfo"), "name");
  if (typeof name === "string") return name;
  throw new InvalidRequestError("server", "keeps its name where it cannot be seen: its version is not known here");
}

function checkRegistered(name: string, registered: unknown): RegisteredToolLike {
  if (isObject(registered) && typeof Reflect.get(registered, "update") === "function") {
    return registered as RegisteredToolLike;
  }
  throw new InvalidRequestError("server", `gave no registered tool for ${JSON.stringify(name)}`);
}

type Method = (...args: readonly unknown[]) => unknown;

function methodsOf(server: McpServerLike): { readonly registerTool: Method; readonly connect: Method } {
  const { registerTool, connect }: { registerTool: unknown; connect: unknown } = server;
  const bound = (method: unknown): Method => (method as Method).bind(server);
  return { registerTool: bound(registerTool), connect: bound(connect) };
}

function replace(object: object, name: string, method: (...args: never[]) => unknown): void {
  Object.defineProperty(object, name, { value: method, configurable: true, writable: true, enumerable: false });
}

function annotationsOf(config: unknown): ToolAnnotations | undefined {
  return memberOf(config, "annotations") as ToolAnnotations | undefined;
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? Reflect.get(value, name) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
