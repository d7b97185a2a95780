import type { FailureClass } from "../../../src/tool-calls/index.js";
import { contentOf, type McpToolResult } from "./tool-result.js";

/*
 * A tool that fails answers with `isError: true`, and so does a server whose tool threw: the class of the error is gone, and
 * whether there was an effect is anyone's guess. It is the tool's answer all the same, most often one that its caller can do
 * something about, so that it is kept like any other: within the window the same call gets the same error and fires nothing,
 * and a call with other arguments is another one. Where the tool says that calling it again has no further effect, it may be
 * tried again at once. Somebody who knows the tool may say that its errors mean something else.
 */

/** What an error result means: a failure of some class, or a result that is kept. */
export type ErrorResultMeaning = FailureClass | "completed";

/** Longest part of an error's text that is kept in the record, in UTF-16 units. */
const textMax = 500;

/** The failure of a call, thrown inside its run so that it is recorded as one. */
export class ErrorResult extends Error {
  readonly result: McpToolResult;

  constructor(result: McpToolResult) {
    super(textOf(result));
    this.name = "ErrorResult";
    this.result = result;
  }
}

/** What an error result means when nobody says. @param idempotent the tool's `idempotentHint` */
export function meaningOfErrorResult(idempotent: boolean | undefined): ErrorResultMeaning {
  return idempotent === true ? "retryable" : "completed";
}

function textOf(result: McpToolResult): string {
  const texts = contentOf(result).map((block) => {
    const text: unknown = typeof block === "object" && block !== null ? Reflect.get(block, "text") : undefined;
    return typeof text === "string" ? text : "";
  });
  const text = texts.filter((each) => each !== "").join(" ");
  return text === "" ? "the tool answered with an error" : text.slice(0, textMax);
}
