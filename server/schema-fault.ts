import type { ErrorObject } from "ajv";
import { InvalidRequestError } from "../src/base/errors.js";
import { memberPath } from "../src/documents/member-path.js";
import { kindOf } from "../src/documents/value-kind.js";

/**
 * A fault that the validator found, in the words and with the path of all other faults of a request: `/operations/3/set`
 * becomes `operations[3].set`.
 *
 * @param body that was judged: it tells the positions of arrays from names made of digits
 * @param error made with the validator's option `verbose`
 */
export function schemaFault(body: unknown, error: ErrorObject): InvalidRequestError {
  const path = pathOf(body, error.instancePath);
  const { params } = error;
  switch (error.keyword) {
    case "additionalProperties":
      return new InvalidRequestError(
        memberPath(path, String(params["additionalProperty"])),
        `is not a member here; known are ${knownMembers(error.parentSchema).join(", ")}`,
      );
    case "required":
      return new InvalidRequestError(memberPath(path, String(params["missingProperty"])), "is missing");
    case "type":
      return new InvalidRequestError(path, `must be ${typesOf(params["type"])}, not ${kindOf(error.data)}`);
    case "const":
      return new InvalidRequestError(path, `must be ${JSON.stringify(params["allowedValue"])}`);
    case "enum":
      return new InvalidRequestError(path, `must be one of ${(params["allowedValues"] as unknown[]).join(", ")}`);
    case "discriminator":
      return new InvalidRequestError(memberPath(path, String(params["tag"])), `must be ${tagsOf(error).join(" or ")}`);
    default:
      return new InvalidRequestError(path, error.message ?? "is not valid");
  }
}

function pathOf(body: unknown, pointer: string): string {
  let path = "";
  let value = body;
  for (const token of pointer.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    path = memberPath(path, Array.isArray(value) ? Number(name) : name);
    value =
      typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
  }
  return path;
}

function knownMembers(schema: unknown): string[] {
  return isObject(schema) && isObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
}

const articles: { readonly [type: string]: string } = {
  object: "an object",
  array: "an array",
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
};

function typesOf(type: unknown): string {
  const names = Array.isArray(type) ? type : String(type).split(",");
  return names.map((name) => articles[String(name)] ?? String(name)).join(" or ");
}

/** The values that tell the alternatives apart: `"put"`, `"patch"`. */
function tagsOf(error: ErrorObject): string[] {
  const alternatives: unknown = error.parentSchema?.["oneOf"];
  if (!Array.isArray(alternatives)) return [];
  return alternatives.flatMap((alternative: unknown) => {
    const properties = isObject(alternative) ? alternative["properties"] : undefined;
    const tag = isObject(properties) ? properties[String(error.params["tag"])] : undefined;
    return isObject(tag) ? [JSON.stringify(tag["const"])] : [];
  });
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null;
}
