import { Client } from "undici";
import { describeCause, parseAddress, unreachableMessage } from "../client/address.js";
import { reviveProblem } from "../client/problem.js";
import { OnceKvError } from "../src/base/errors.js";
import type { BackupSummary } from "../src/level/index.js";
import type { ServerTarget } from "./target.js";

/** Milliseconds without a byte after which a download is given up: a server may look for long for the next document. */
const silenceMs = 300_000;

/**
 * Downloads a backup from a server: under another name, then checked from end to end, and only then under its own.
 *
 * @throws OnceKvError `backup_invalid` when what arrived is not whole, `unavailable` when the server is out of reach or
 * the transfer was cut, and what the server answers
 */
export async function downloadBackup(
  { url, token, ca, timeout }: ServerTarget,
  file: string,
  onProgress: (bytes: number) => void,
): Promise<BackupSummary> {
  const address = parseAddress(url);
  const { BackupTarget, checkBackup } = await import("../src/level/index.js");
  const target = await BackupTarget.create(file);
  const client = new Client(address.origin, {
    connect: { timeout: timeout * 1000, ...(ca === undefined ? {} : { ca }) },
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
  });
  try {
    const answer = await client
      .request({
        method: "GET",
        path: `${address.basePath}/v1/backup`,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      })
      .catch((error: unknown) => {
        throw new OnceKvError("unavailable", unreachableMessage(address, error), { cause: error });
      });
    if (answer.statusCode !== 200) {
      throw reviveProblem(answer.statusCode, await answer.body.text(), { host: address.host });
    }
    let bytes = 0;
    const chunks: AsyncIterator<Buffer> = answer.body[Symbol.asyncIterator]();
    for (;;) {
      const step = await chunks.next().catch((error: unknown) => {
        throw new OnceKvError(
          "unavailable",
          `the backup was cut after ${bytes} bytes (${describeCause(error)}); nothing was kept of it`,
          { cause: error },
        );
      });
      if (step.done === true) break;
      await target.write(step.value);
      bytes += step.value.length;
      onProgress(bytes);
    }
    await target.sync();
    const summary = await checkBackup(target.partial);
    await target.finish();
    return summary;
  } catch (error) {
    await target.abandon();
    throw error;
  } finally {
    await client.destroy();
  }
}
