import type { ToolAnnotations } from "../../src/tools/index.js";
import { isObject, memberOf } from "./json-rpc.js";

/** What a server's list says about a tool, as far as it is looked at. */
export interface ListedTool {
  readonly name: string;
  readonly annotations: ToolAnnotations | undefined;
  /** The JSON schema of the arguments, as it came. */
  readonly inputSchema: unknown;
  /** Clients refuse a result without structured content of such a tool, unless it is an error. */
  readonly hasOutputSchema: boolean;
}

/** One page of a list, and what the next one is asked for by; undefined: it is the last. */
interface ToolPage {
  readonly tools: readonly ListedTool[];
  readonly next: string | undefined;
}

/** The tools of one page of a `tools/list`; entries without a name are left out. */
export function readToolPage(result: unknown): ToolPage {
  const listed = memberOf(result, "tools");
  const tools: ListedTool[] = [];
  for (const tool of Array.isArray(listed) ? listed : []) {
    const name = memberOf(tool, "name");
    if (typeof name !== "string") continue;
    tools.push({
      name,
      annotations: readAnnotations(memberOf(tool, "annotations")),
      inputSchema: memberOf(tool, "inputSchema"),
      hasOutputSchema: isObject(memberOf(tool, "outputSchema")),
    });
  }
  const next = memberOf(result, "nextCursor");
  return { tools, next: typeof next === "string" ? next : undefined };
}

const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

function readAnnotations(given: unknown): ToolAnnotations | undefined {
  if (!isObject(given)) return undefined;
  const known = hints.map((hint) => [hint, given[hint]] as const).filter(([, value]) => typeof value === "boolean");
  return Object.fromEntries(known);
}

/** The tools that have been seen in lists, whoever asked for them. */
export class ToolKnowledge {
  readonly #tools = new Map<string, ListedTool>();
  /** As they were listed before the list changed: what they are taken for as long as no new one says better. */
  readonly #earlier = new Map<string, ListedTool>();
  #asked: "not yet" | "answered" | "in vain" = "not yet";
  #changes = 0;
  readonly #onListed: (tools: readonly ListedTool[]) => void;

  /** @param onListed hears of what is known whenever somebody has read a list to its end */
  constructor(onListed: (tools: readonly ListedTool[]) => void = () => {}) {
    this.#onListed = onListed;
  }

  /** Whether the server has been asked for its whole list since that changed last, and what came of it. */
  get asked(): "not yet" | "answered" | "in vain" {
    return this.#asked;
  }

  /** How often the list has changed: what was asked for before a change says nothing of what is after it. */
  get changes(): number {
    return this.#changes;
  }

  /** Notes a whole list. @param tools undefined: the server has not told it */
  learnAll(tools: readonly ListedTool[] | undefined): void {
    if (tools !== undefined) this.learn({ tools, next: undefined });
    this.#asked = tools === undefined ? "in vain" : "answered";
  }

  learn({ tools, next }: ToolPage): void {
    for (const tool of tools) this.#tools.set(tool.name, tool);
    if (next === undefined) this.#onListed([...this.#tools.values()]);
  }

  /** The server says that its tools are other ones now. */
  change(): void {
    for (const [name, tool] of this.#tools) this.#earlier.set(name, tool);
    this.#tools.clear();
    this.#asked = "not yet";
    this.#changes += 1;
  }

  /** As it is listed now. */
  find(name: string): ListedTool | undefined {
    return this.#tools.get(name);
  }

  /** As it was listed last, be that before a change. */
  findLast(name: string): ListedTool | undefined {
    return this.#tools.get(name) ?? this.#earlier.get(name);
  }
}
