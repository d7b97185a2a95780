import { InvalidRequestError } from "../../../src/base/errors.js";
import { isPlainObject } from "../../../src/documents/plain-object.js";
import type { ToolAnnotations } from "../../../src/tools/index.js";
import type { McpHandler } from "./guarded-handler.js";

/** What the SDK keeps of a tool, and gives to whoever registers it, as far as it is looked at. */
export interface RegisteredToolLike {
  readonly annotations?: ToolAnnotations | undefined;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  update(updates: { readonly [name: string]: unknown }): void;
}

/** What is known of a tool, whenever that is asked. */
export interface WatchedTool {
  readonly name: string;
  readonly annotations: ToolAnnotations | undefined;
  readonly inputSchema: unknown;
}

/** The function to put in the place of a tool's own; the same when it is to be left alone. @throws when it cannot be guarded */
export type GuardTool = (tool: WatchedTool, handler: McpHandler) => McpHandler;

/** Where a tool has its function: the earliest versions of the first generation call it as `update` does. */
function handlerMember(tool: RegisteredToolLike): "handler" | "callback" {
  return "handler" in tool ? "handler" : "callback";
}

/** The function of a tool, or what it has in the place of one. */
export function handlerOf(tool: RegisteredToolLike): unknown {
  return Reflect.get(tool, handlerMember(tool));
}

/**
 * Watches a registered tool, so that whatever becomes its function later is guarded as well, and so that it is judged again
 * when its name or its annotations change.
 */
export class RegisteredToolWatch implements WatchedTool {
  readonly tool: RegisteredToolLike;
  readonly #guard: GuardTool;
  readonly #update: RegisteredToolLike["update"];
  #name: string;
  #annotations: ToolAnnotations | undefined;
  /** The tool's own function. */
  #own: McpHandler;
  /** What stands in its place; the same when the tool is left alone. */
  #placed: McpHandler;

  /** @param placed what the SDK was given, when the tool was guarded on its way into the SDK */
  constructor(name: string, tool: RegisteredToolLike, guard: GuardTool, own: McpHandler, placed: McpHandler) {
    this.tool = tool;
    this.#name = name;
    this.#guard = guard;
    this.#own = own;
    this.#placed = placed;
    this.#annotations = tool.annotations;
    this.#update = tool.update.bind(tool);
    if (handlerOf(tool) !== placed) this.#update({ callback: placed });
    this.#watchHandler();
    this.#watchAnnotations();
    tool.update = (updates) => this.#updated(updates);
  }

  get name(): string {
    return this.#name;
  }

  get annotations(): ToolAnnotations | undefined {
    return this.#annotations;
  }

  get inputSchema(): unknown {
    return this.tool.inputSchema;
  }

  get isGuarded(): boolean {
    return this.#placed !== this.#own;
  }

  /** Asks again whether the tool is to be guarded: a member of its annotations may have been changed where it stands. */
  judge(): void {
    const placed = this.#guard(this, this.#own);
    if ((placed !== this.#own) === this.isGuarded) return;
    this.#placed = placed;
    this.#update({ callback: placed });
  }

  /** The first generation enters whatever stands there, so that it may be set without `update`. */
  #watchHandler(): void {
    Object.defineProperty(this.tool, handlerMember(this.tool), {
      get: () => this.#placed,
      set: (handler: unknown) => {
        if (handler === this.#placed) return;
        this.#own = checkHandler(this.#name, handler);
        this.#placed = this.#guard(this, this.#own);
      },
      enumerable: true,
      configurable: true,
    });
  }

  /** Both generations read annotations where they stand, so that these, too, may be set without `update`. */
  #watchAnnotations(): void {
    Object.defineProperty(this.tool, "annotations", {
      get: () => this.#annotations,
      set: (annotations: ToolAnnotations | undefined) => {
        if (annotations === this.#annotations) return;
        const { name, inputSchema } = this;
        // Before anything is changed: what cannot be guarded must not be there.
        const placed = this.#guard({ name, annotations, inputSchema }, this.#own);
        this.#annotations = annotations;
        if (placed === this.#placed) return;
        this.#placed = placed;
        this.#update({ callback: placed });
      },
      enumerable: true,
      configurable: true,
    });
  }

  #updated(updates: unknown): void {
    if (!isPlainObject(updates)) throw new InvalidRequestError("updates", "must be a plain object");
    const { name, callback, annotations, paramsSchema } = updates;
    const next: WatchedTool = {
      name: typeof name === "string" ? name : this.#name,
      annotations: (annotations as ToolAnnotations | undefined) ?? this.annotations,
      inputSchema: paramsSchema ?? this.inputSchema,
    };
    const own = callback === undefined ? this.#own : checkHandler(next.name, callback);
    // Before anything is changed: what cannot be guarded must not be there.
    const placed = this.#guard(next, own);
    const changed = placed !== this.#placed;
    this.#own = own;
    this.#placed = placed;
    this.#name = next.name;
    this.#annotations = next.annotations;
    this.#update({ ...updates, ...(changed ? { callback: placed } : {}) });
  }
}

/** @throws InvalidRequestError when it is no function: a handler of tasks runs on after its answer, where no guard follows */
function checkHandler(name: string, handler: unknown): McpHandler {
  if (typeof handler === "function") return handler as McpHandler;
  throw new InvalidRequestError("", `the tool ${JSON.stringify(name)} has no function that can be guarded`);
}
