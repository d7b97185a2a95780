import { type DestinationStream, pino } from "pino";

/** Bytes of the log that wait for the disk; what is beyond that is dropped. */
const waitingBytesMax = 1024 * 1024;

/**
 * Where the log goes. The one that pino makes by itself ends the process when a line cannot be written: a full disk for
 * the log would take the store with it. Here such lines are kept for a while, then dropped, and the server goes on.
 *
 * @param file a file's descriptor or path; the standard output when absent
 */
export function logDestination(file: number | string = 1): DestinationStream {
  const destination = pino.destination({ dest: file, sync: true, maxLength: waitingBytesMax });
  destination.on("error", () => {});
  return destination;
}
