import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isPlainObject } from "../../../src/documents/plain-object.js";
import { isStandardSchema } from "../../../src/tools/schema.js";
import { isEnvelope, isRefusal } from "./model-output.js";

/*
 * The SDK validates the outputs of a stored conversation by the tool's `outputSchema`. That speaks of the bare result, so it
 * is asked about the result in the envelope; refusals are well-formed by themselves, and bare results are those from before
 * the tool was guarded.
 */

/** What stands in the place of a tool's own output schema. @param enveloped whether answers of the tool are envelopes */
export function guardedOutputSchema(own: unknown, enveloped: boolean): StandardSchemaV1 {
  const validate = async (value: unknown): Promise<StandardSchemaV1.Result<unknown>> => {
    if (isRefusal(value)) return { value };
    if (!(enveloped && isEnvelope(value))) return validateBy(own, value);
    if (value.result_omitted !== undefined) return { value };
    const judged = await validateBy(own, value.result);
    if (judged.issues === undefined) return { value: { ...value, result: judged.value } };
    return { issues: judged.issues.map((issue) => ({ ...issue, path: ["result", ...(issue.path ?? [])] })) };
  };
  return { "~standard": { version: 1, vendor: "oncekv", validate } };
}

/** Asks a schema of any of the kinds that the SDK takes: Standard Schema, its own, or a function that makes one of its own. */
async function validateBy(schema: unknown, value: unknown): Promise<StandardSchemaV1.Result<unknown>> {
  if (isStandardSchema(schema)) return schema["~standard"].validate(value);
  const made: unknown = typeof schema === "function" ? schema() : schema;
  const validate: unknown = typeof made === "object" && made !== null ? Reflect.get(made, "validate") : undefined;
  // A JSON Schema without a validator accepts everything, as in the SDK.
  if (typeof validate !== "function") return { value };
  const judged: unknown = await Reflect.apply(validate, made, [value]);
  if (isPlainObject(judged) && judged["success"] === true) return { value: judged["value"] };
  const error: unknown = isPlainObject(judged) ? judged["error"] : undefined;
  return { issues: [{ message: error instanceof Error ? error.message : "is not valid" }] };
}
