import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { InvalidRequestError, OnceKvError, TooLargeError } from "../src/base/errors.js";
import { loadOf } from "./context.js";
import { parseJsonObject } from "./json-text.js";
import { textBytesPerStoredByte } from "./limits.js";

/**
 * Makes JSON the one kind of body that the server reads. An empty body is no body, whatever its content type says:
 * clients send `DELETE` with the content type of all their requests.
 *
 * Bodies are read here and not by the framework, since what has arrived of all of them together is bounded.
 */
export function useJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (request, payload, done) => {
    const bytesMax = request.routeOptions.bodyLimit;
    if (Number(request.headers["content-length"]) > bytesMax) {
      done(tooLarge(bytesMax), undefined);
      return;
    }
    const load = loadOf(request);
    readBytes(
      payload,
      (bytes, all) => {
        if (all > bytesMax) throw tooLarge(bytesMax);
        load?.received(bytes);
      },
      (error, bytes) => {
        if (error !== undefined) load?.forgetBody();
        try {
          if (error !== undefined) throw error;
          refuseOtherCharset(request.headers["content-type"]);
          refuseEncoding(request.headers["content-encoding"]);
          // A value takes at least one byte in store, so that a body of its route's limit has room for no more of them.
          const valuesMax = Math.ceil(bytesMax / textBytesPerStoredByte);
          done(null, bytes.length === 0 ? undefined : parseJsonObject(bytes, "the body", { valuesMax }));
        } catch (fault) {
          done(fault instanceof Error ? fault : new InvalidRequestError("", String(fault)), undefined);
        }
      },
    );
  });
}

/**
 * Reads a body to its end.
 *
 * @param take is told of each part, and of how much has come in all; what it throws ends the reading
 * @param done with an error, or with the whole body
 */
function readBytes(
  payload: IncomingMessage,
  take: (bytes: number, all: number) => void,
  done: (error: Error | undefined, bytes: Buffer) => void,
): void {
  const parts: Buffer[] = [];
  let all = 0;
  const finish = (error: Error | undefined): void => {
    payload.off("data", onData).off("end", onEnd).off("error", finish);
    done(error, error === undefined ? Buffer.concat(parts, all) : Buffer.alloc(0));
    parts.length = 0;
  };
  const onEnd = (): void => finish(undefined);
  const onData = (part: Buffer): void => {
    all += part.length;
    try {
      take(part.length, all);
    } catch (error) {
      finish(error instanceof Error ? error : new OnceKvError("internal", String(error)));
      return;
    }
    parts.push(part);
  };
  payload.on("data", onData).on("end", onEnd).on("error", finish);
}

function tooLarge(bytesMax: number): TooLargeError {
  return new TooLargeError("", `the body is larger than ${bytesMax} bytes`);
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
