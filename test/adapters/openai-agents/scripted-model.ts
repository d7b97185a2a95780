import {
  type AgentOutputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  setTracingDisabled,
  Usage,
} from "@openai/agents";

// Nothing leaves this process.
setTracingDisabled(true);

/** What the model emits in one step: calls, or words. */
export type Step = readonly Emission[] | string;

export interface Emission {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

let emitted = 0;

/** A call as a model emits it, with an id that is new each time. */
export function emit(name: string, input: unknown): Emission {
  emitted += 1;
  return { id: `call-${emitted}`, name, input };
}

/** A model that follows a script, and remembers what it was asked. */
export class ScriptedModel implements Model {
  readonly #steps: Step[];
  #last: ModelRequest | undefined;

  constructor(steps: readonly Step[]) {
    this.#steps = [...steps];
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    this.#last = request;
    return { usage: new Usage(), output: outputOf(this.#steps.shift() ?? "done") };
  }

  getStreamedResponse(): never {
    throw new Error("this model does not stream");
  }

  /** The tool results in the model's last prompt, in their order: text is read as JSON where it is. */
  get seen(): readonly unknown[] {
    const input = this.#last?.input ?? [];
    if (typeof input === "string") return [];
    return input.flatMap((item) => (item.type === "function_call_result" ? [readable(item.output)] : []));
  }
}

function readable(output: unknown): unknown {
  const text: unknown = typeof output === "string" ? output : Reflect.get(Object(output), "text");
  if (typeof text !== "string") return output;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function outputOf(step: Step): AgentOutputItem[] {
  if (typeof step === "string") {
    return [
      { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: step }] },
    ];
  }
  return step.map(({ id, name, input }) => {
    return { type: "function_call", callId: id, name, status: "completed", arguments: JSON.stringify(input) };
  });
}
