/**
 * Decompresses what Snappy compressed, as LevelDB stores the blocks of its tables. undefined: it is not a whole
 * compressed block.
 */
export function decompressSnappy(input: Buffer): Buffer | undefined {
  let at = 0;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = input[at++];
    if (byte === undefined || shift > 28) return undefined;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  // A block compresses to no less than a twentieth or so: a length beyond that is damage, not a reason to allocate.
  if (length > input.length * 32 + 1024) return undefined;
  const output = Buffer.allocUnsafe(length);
  let written = 0;
  while (at < input.length) {
    const tag = input[at++] ?? 0;
    if ((tag & 3) === 0) {
      let size = tag >> 2;
      if (size >= 60) {
        const extra = size - 59;
        if (at + extra > input.length) return undefined;
        size = input.readUIntLE(at, extra);
        at += extra;
      }
      size += 1;
      if (at + size > input.length || written + size > length) return undefined;
      input.copy(output, written, at, at + size);
      at += size;
      written += size;
      continue;
    }
    const offsetBytes = (tag & 3) === 1 ? 1 : (tag & 3) === 2 ? 2 : 4;
    if (at + offsetBytes > input.length) return undefined;
    let offset = input.readUIntLE(at, offsetBytes);
    at += offsetBytes;
    if (offsetBytes === 1) offset += (tag >> 5) * 256;
    const size = offsetBytes === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    if (offset === 0 || offset > written || written + size > length) return undefined;
    // Byte by byte: a copy may reach into what it writes itself.
    for (let index = 0; index < size; index++, written++) output[written] = output[written - offset] ?? 0;
  }
  return written === length ? output : undefined;
}
