import { Ajv2020 } from "ajv/dist/2020.js";
import { type ErrorCode, errorTable } from "../../src/base/errors.js";
import type { ApiDescription, Operation, Schema } from "./api.js";

/** An answer as it came over the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly text: string;
}

export interface Problem {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly path?: string;
}

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Judges answers by the description of the interface: whatever a server answers must stand there. */
export class AnswerJudge {
  readonly #ajv: Ajv2020;
  readonly #description: ApiDescription;

  constructor(description: ApiDescription) {
    this.#description = description;
    this.#ajv = new Ajv2020({ strict: false, formats: { "date-time": dateTime } });
    this.#ajv.addSchema(description, "api");
  }

  /** Whether a value is one that a schema of a request takes, bounds included. */
  takes(schema: Schema, value: unknown): boolean {
    return this.#ajv.validate(schema, value);
  }

  /**
   * What is wrong with an answer, in words; nothing when it is one that the description knows. An answer to a request that is no
   * request of any route is judged as a problem alone.
   */
  faults(operation: Operation | undefined, answer: WireAnswer): string[] {
    const { status, text } = answer;
    if (status >= 500) return [`${status} is no answer to a request, however bad`];
    const described = operation?.answers[String(status)];
    if (operation !== undefined && described === undefined) {
      // What the router answers before there is a route.
      const code = status >= 400 ? this.#codeOf(text) : undefined;
      if (code !== "route_not_found" && code !== "method_not_allowed") {
        return [`${status} ${code} is not described for ${operation.id}`];
      }
    }
    const type = String(answer.headers["content-type"] ?? "").split(";")[0] ?? "";
    if (status >= 400) return this.#problemFaults(answer, type, described?.description);
    if (operation === undefined || described?.content === undefined) return [];
    if (!(type in described.content)) return [`the media type ${type} is not described for ${operation.id} ${status}`];
    if (type !== "application/json") return [];
    return this.#bodyFaults(operation, status, text, described.content[type]?.schema ?? {});
  }

  #problemFaults(answer: WireAnswer, type: string, described: string | undefined): string[] {
    if (type !== "application/problem+json") return [`an error of the type ${type}`];
    const problem: unknown = parse(answer.text);
    const faults = this.#schemaFaults("api#/components/schemas/Problem", problem, "the problem");
    if (faults.length > 0) return faults;
    const { code, status, detail, path } = problem as Problem & { readonly status: number };
    if (status !== answer.status) faults.push(`the body says ${status}, and the answer is ${answer.status}`);
    // A request that is none has come to no route, and the status that tells so has no code of its own.
    if (![408, 431].includes(status) && errorTable[code].status !== status) faults.push(`${code} comes with ${status}`);
    if (described !== undefined && !described.includes(`\`${code}\``)) {
      faults.push(`the code ${code} is not described for ${status}`);
    }
    if (detail.length > 4096) faults.push(`a detail of ${detail.length} characters`);
    if ((path?.length ?? 0) > 16_384) faults.push(`a path of ${path?.length} characters`);
    return faults;
  }

  #bodyFaults(operation: Operation, status: number, text: string, schema: Schema): string[] {
    const body = parse(text);
    if (body === undefined) return ["the answer is not JSON"];
    const pointer = `#/paths/${escaped(operation.path)}/${operation.method.toLowerCase()}/responses/${status}`;
    const faults = this.#schemaFaults(`api${pointer}/content/application~1json/schema`, body, "the answer");
    const known = this.#propertiesOf(schema);
    if (known !== undefined && typeof body === "object" && body !== null) {
      for (const name of Object.keys(body)) {
        if (!known.has(name)) faults.push(`the member ${name} of an answer to ${operation.id} is not described`);
      }
    }
    return faults;
  }

  #schemaFaults(reference: string, value: unknown, what: string): string[] {
    const validate = this.#ajv.getSchema(reference);
    if (validate === undefined) return [`there is no schema ${reference}`];
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${what}${instancePath} ${message}`);
  }

  /** The members that the described object has; undefined when that is not said. */
  #propertiesOf(schema: Schema): ReadonlySet<string> | undefined {
    const { $ref, properties, oneOf } = schema as { $ref?: string; properties?: object; oneOf?: readonly Schema[] };
    if ($ref !== undefined) {
      return this.#propertiesOf(this.#description.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {});
    }
    if (properties !== undefined) return new Set(Object.keys(properties));
    const alternatives = (oneOf ?? []).map((alternative) => this.#propertiesOf(alternative));
    return alternatives.length === 0 ? undefined : new Set(alternatives.flatMap((names) => [...(names ?? [])]));
  }

  #codeOf(text: string): unknown {
    const problem = parse(text);
    return typeof problem === "object" && problem !== null && "code" in problem ? problem.code : undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function escaped(path: string): string {
  return encodeURIComponent(path.replaceAll("~", "~0").replaceAll("/", "~1"));
}
