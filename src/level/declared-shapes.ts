import type { StandardSchemaV1 } from "@standard-schema/spec";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { InvalidRequestError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import type { Fields, JsonValue } from "../documents/contract.js";
import { memberPath } from "../documents/json-value.js";
import { checkShape } from "../documents/names.js";
import { checkTtl } from "../documents/requests.js";

/** What a store may be told about a shape. */
export interface DeclaredShape {
  /**
   * Judges the final fields of every write (for a patch, the merged ones): a Standard Schema (zod, valibot, typebox and
   * others) or a JSON Schema (2020-12). It only judges; what it would make of the fields is not stored. It must answer
   * at once: a promise is an error.
   */
  readonly schema?: StandardSchemaV1 | { readonly [keyword: string]: unknown };
  /** Seconds to live for a put that gives no ttl. */
  readonly ttl?: number;
}

export type DeclaredShapes = { readonly [shape: string]: DeclaredShape };

type Judge = (fields: Fields, path: string) => void;

interface Rule {
  readonly judge: Judge | undefined;
  readonly ttlMs: number | null | undefined;
}

/** The declared shapes, ready for use. */
export class ShapeRules {
  readonly #rules = new Map<string, Rule>();

  /** Throws `invalid_request` for a declaration that cannot work. */
  constructor(shapes: DeclaredShapes, limits: Limits) {
    for (const [name, shape] of Object.entries(shapes)) {
      checkShape(name, `shapes[${JSON.stringify(name)}]`);
      const path = memberPath("shapes", name);
      this.#rules.set(name, {
        judge: shape.schema === undefined ? undefined : compile(shape.schema, `${path}.schema`),
        ttlMs: shape.ttl === undefined ? undefined : checkTtl(shape.ttl, `${path}.ttl`, limits),
      });
    }
  }

  /** Throws `invalid_request`, with paths below `path`, when the fields are not what the shape declares. */
  judge(shape: string, fields: Fields, path: string): void {
    if (this.#rules.size > 0) this.#rules.get(shape)?.judge?.(fields, path);
  }

  /** The shape's default time to live in milliseconds; undefined or null: none. */
  defaultTtlMs(shape: string): number | null | undefined {
    return this.#rules.get(shape)?.ttlMs;
  }
}

function compile(schema: NonNullable<DeclaredShape["schema"]>, path: string): Judge {
  return isStandardSchema(schema) ? byStandardSchema(schema) : byJsonSchema(schema, path);
}

function isStandardSchema(schema: NonNullable<DeclaredShape["schema"]>): schema is StandardSchemaV1 {
  return "~standard" in schema;
}

function byStandardSchema(schema: StandardSchemaV1): Judge {
  return (fields, path) => {
    // The schema gets a copy of its own, so that one which changes its input changes nothing that is stored.
    const outcome = schema["~standard"].validate(structuredClone(fields));
    if (outcome instanceof Promise) {
      outcome.catch(() => {});
      throw new InvalidRequestError(path, "the shape's schema answers with a promise; it must judge at once");
    }
    if (outcome.issues === undefined) return;
    throw refusal(
      outcome.issues.map((issue) => ({
        place: (issue.path ?? []).reduce<string>(
          (place, step) => memberPath(place, keyOf(typeof step === "object" ? step.key : step)),
          path,
        ),
        message: issue.message,
      })),
    );
  };
}

function keyOf(key: PropertyKey): string | number {
  return typeof key === "symbol" ? String(key) : key;
}

function byJsonSchema(schema: { readonly [keyword: string]: unknown }, declaredAt: string): Judge {
  let validate: ValidateFunction;
  try {
    validate = new Ajv2020({ allErrors: true, strict: false }).compile(schema);
  } catch (error) {
    const problem = `is not a usable JSON Schema: ${(error as Error).message}`;
    throw new InvalidRequestError(declaredAt, problem, { cause: error });
  }
  if ("$async" in validate) throw new InvalidRequestError(declaredAt, "must not be asynchronous");
  return (fields, path) => {
    if (validate(fields)) return;
    throw refusal(
      (validate.errors ?? []).map((error) => ({
        place: placeOf(error.instancePath, fields, path),
        message: error.message ?? error.keyword,
      })),
    );
  };
}

/** Our way of writing the place that a JSON Pointer names in `fields`. */
function placeOf(pointer: string, fields: Fields, path: string): string {
  let place = path;
  let value: JsonValue | undefined = fields;
  for (const escaped of pointer.split("/").slice(1)) {
    const step = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    place = memberPath(place, Array.isArray(value) ? Number(step) : step);
    value = typeof value === "object" && value !== null ? (value as Fields)[step] : undefined;
  }
  return place;
}

function refusal(problems: readonly { readonly place: string; readonly message: string }[]): InvalidRequestError {
  const [first, ...others] = problems;
  const more = others.map(({ place, message }) => `; ${place}: ${message}`).join("");
  return new InvalidRequestError(first?.place ?? "", `${first?.message ?? "is refused by the shape's schema"}${more}`);
}
