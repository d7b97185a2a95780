import type { ToolAnnotations } from "../../src/tools/index.js";
import { isObject, memberOf } from "./json-rpc.js";

/** What a server's list says about a tool, as far as it is looked at. */
export interface ListedTool {
  readonly name: string;
  readonly annotations: ToolAnnotations | undefined;
  /** The JSON schema of the arguments, as it came. */
  readonly inputSchema: unknown;
}

/** The tools of one page of a `tools/list`; entries without a name are left out. */
export function readToolPage(result: unknown): {
  readonly tools: readonly ListedTool[];
  readonly next: string | undefined;
} {
  const listed = memberOf(result, "tools");
  const tools: ListedTool[] = [];
  for (const tool of Array.isArray(listed) ? listed : []) {
    const name = memberOf(tool, "name");
    if (typeof name !== "string") continue;
    tools.push({
      name,
      annotations: readAnnotations(memberOf(tool, "annotations")),
      inputSchema: memberOf(tool, "inputSchema"),
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
  #wasAsked = false;

  /** Whether the server has been asked for its whole list since the list changed last. */
  get wasAsked(): boolean {
    return this.#wasAsked;
  }

  asked(): void {
    this.#wasAsked = true;
  }

  learn(tools: readonly ListedTool[]): void {
    for (const tool of tools) this.#tools.set(tool.name, tool);
  }

  /** The server says that its tools are other ones now. */
  forget(): void {
    this.#tools.clear();
    this.#wasAsked = false;
  }

  find(name: string): ListedTool | undefined {
    return this.#tools.get(name);
  }
}
