import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { InvalidRequestError, type OnceKvError, TooLargeError } from "../src/base/errors.js";
import type { PendingAnswers } from "./pending-answers.js";
import { type Problem, problemType, toProblem } from "./problem.js";

/** What an HTTP parser and Node's timers tell of a connection. Other faults are of the connection itself, as a failed handshake. */
const ofRequest = /^HPE_|^ERR_HTTP_/;

/**
 * Answers what is no HTTP request at all, and closes the connection. There is no reply object to answer with, so that the
 * answer is written by hand. While answers to earlier requests are still to come it says nothing, since it would be taken
 * for one of them: it closes behind the last of them.
 */
export function answerConnectionFault(
  pending: PendingAnswers,
  error: { readonly code?: string },
  socket: Socket,
): void {
  const { code = "" } = error;
  if (code === "ECONNRESET" || socket.destroyed) return;
  if (!ofRequest.test(code)) {
    socket.destroy();
    return;
  }
  if (pending.has(socket)) {
    // Whatever else arrives comes here, too; the sender's end ends it all.
    if (socket.readableEnded) socket.destroy();
    else pending.whenNone(socket, () => socket.destroySoon());
    return;
  }
  if (socket.writable) {
    const { status, problem } = faultOf(code);
    const body = JSON.stringify({ ...problem, status });
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\ncontent-type: ${problemType}\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
  }
  socket.destroySoon();
}

function faultOf(code: string): { readonly status: number; readonly problem: Problem } {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, problem: problemOf(new InvalidRequestError("", "the request did not arrive in time")) };
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, problem: problemOf(new TooLargeError("", "the headers are larger than 16 KiB")) };
    default:
      return { status: 400, problem: problemOf(new InvalidRequestError("", "this is not an HTTP request")) };
  }
}

function problemOf(error: OnceKvError): Problem {
  return toProblem(error, () => false, "");
}
