import { open } from "node:fs/promises";

/** Longest tokens file, and longest file with keys or certificates, in bytes: many times what anybody has. */
const fileBytesMax: number = 16 * 1024 * 1024;

const chunkBytes = 64 * 1024;

/**
 * Reads a file that somebody has named, which may be the wrong one: a device without an end must not fill the memory.
 *
 * @throws RangeError when it holds more than `bytesMax` bytes, and the system's errors
 */
export async function readBoundedFile(file: string, bytesMax: number = fileBytesMax): Promise<Buffer> {
  const handle = await open(file, "r");
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, null);
      if (bytesRead === 0) return Buffer.concat(chunks);
      bytes += bytesRead;
      if (bytes > bytesMax) throw new RangeError(`${file} holds more than ${bytesMax} bytes`);
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}
