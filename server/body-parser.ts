import type { FastifyInstance } from "fastify";
import { InvalidRequestError, OnceKvError } from "../src/base/errors.js";
import { parseJsonObject } from "./json-text.js";
import { textBytesPerStoredByte } from "./limits.js";

/**
 * Makes JSON the one kind of body that the server reads. An empty body is no body, whatever its content type says:
 * clients send `DELETE` with the content type of all their requests.
 */
export function useJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    try {
      refuseOtherCharset(request.headers["content-type"]);
      refuseEncoding(request.headers["content-encoding"]);
      // With `parseAs: "buffer"` a body is never a string; the type covers both.
      const bytes = typeof body === "string" ? Buffer.from(body) : body;
      // A value takes at least one byte in store, so that a body of its route's limit has room for no more of them.
      const valuesMax = Math.ceil(request.routeOptions.bodyLimit / textBytesPerStoredByte);
      done(null, bytes.length === 0 ? undefined : parseJsonObject(bytes, "the body", { valuesMax }));
    } catch (error) {
      done(error instanceof Error ? error : new InvalidRequestError("", String(error)), undefined);
    }
  });
}

const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/** JSON is UTF-8. Another charset in the header would be ignored, and its text read as something else. */
function refuseOtherCharset(contentType: string | undefined): void {
  if (contentType === undefined || !contentType.includes(";")) return;
  const name = charset.exec(contentType)?.[1]?.toLowerCase();
  if (name === undefined || name === "utf-8" || name === "utf8" || name === "us-ascii") return;
  throw new OnceKvError("unsupported_media_type", `the body must be JSON in UTF-8, not in ${name}`);
}

/** What is compressed is not read here. A body that only says so is not what its sender thinks it is. */
function refuseEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.trim().toLowerCase() === "identity") return;
  throw new OnceKvError("unsupported_media_type", "the body must be sent as it is, without a content encoding");
}
