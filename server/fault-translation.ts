import { InvalidRequestError, OnceKvError } from "../src/base/errors.js";
import { RequestEnded } from "./long-requests.js";

/** What the framework throws, as far as it is looked at. */
interface FrameworkError {
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly message?: unknown;
}

/**
 * Any error that reaches the server's edge, as one of ours. The framework's are translated here and nowhere else;
 * everything that is not known is a fault of the program, whose words stay in the log.
 */
export function translateFault(error: unknown): OnceKvError {
  if (error instanceof OnceKvError) return error;
  if (error instanceof RequestEnded) return error.fault;
  const { code, statusCode, message }: FrameworkError = typeof error === "object" && error !== null ? error : {};
  switch (code) {
    case "ECONNRESET":
      return new InvalidRequestError("", "the request ended before its body did", { cause: error });
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new OnceKvError("unsupported_media_type", "the body must have the content type application/json");
    case "FST_ERR_BAD_URL":
      return new InvalidRequestError("", "the address is not percent-encoded UTF-8", { cause: error });
    case "FST_ERR_MAX_PARAM_LENGTH":
      return new InvalidRequestError("", "a part of the address is too long", { cause: error });
    default:
      break;
  }
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500) {
    return new InvalidRequestError("", String(message), { cause: error });
  }
  return new OnceKvError("internal", String(message ?? error), { cause: error });
}
