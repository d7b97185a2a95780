import type { SeededRandom } from "../crash/seeded-random.js";
import type { WireRequest } from "./wire.js";

/** Bytes that are nearly an HTTP request. */
export interface RawRequest {
  readonly what: string;
  readonly bytes: Buffer;
  /** Whether the sender ends its side: for what is no whole request, whose answer would be waited for. */
  readonly ends: boolean;
}

type Make = (request: WireRequest, body: string, random: SeededRandom) => string;

function head({ method, target, headers }: WireRequest, more: readonly string[], line?: string): string {
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${String(value).replace(/[^\x20-\x7e]/g, "?")}`);
  const address = target.replace(/[^\x21-\x7e]/g, "%20");
  return `${[line ?? `${method} ${address} HTTP/1.1`, "host: 127.0.0.1", "connection: close", ...own, ...more].join("\r\n")}\r\n\r\n`;
}

const length = (body: string): string => `content-length: ${Buffer.byteLength(body, "latin1")}`;
const chunked = "transfer-encoding: chunked";

const makers: { readonly [what: string]: Make } = {
  "a chunk with no length": (request, body) => `${head(request, [chunked])}zz\r\n${body}\r\n0\r\n\r\n`,
  "a chunk with a huge length": (request, body) => `${head(request, [chunked])}ffffffffffffffffff\r\n${body}`,
  "a chunk that is too short": (request, body) => `${head(request, [chunked])}1\r\n${body}\r\n0\r\n\r\n`,
  "good chunks": (request, body) => `${head(request, [chunked])}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  "good chunks with a trailer": (request, body) =>
    `${head(request, [chunked])}${body.length.toString(16)}\r\n${body}\r\n0\r\nif-match: "1"\r\n\r\n`,
  "both lengths": (request, body) => `${head(request, [length(body), chunked])}0\r\n\r\n${body}`,
  "two lengths": (request, body) => `${head(request, [length(body), "content-length: 1"])}${body}`,
  "a negative length": (request, body) => `${head(request, ["content-length: -1"])}${body}`,
  "a length that is too short": (request, body) => `${head(request, ["content-length: 1"])}${body}`,
  "a length that is too long": (request, body) => `${head(request, [`content-length: ${body.length + 10}`])}${body}`,
  "a length beyond all limits": (request, body) => `${head(request, ["content-length: 999999999999"])}${body}`,
  "an unknown transfer encoding": (request, body) => `${head(request, ["transfer-encoding: gzip, x"])}${body}`,
  "an expectation": (request, body) => `${head(request, ["expect: 100-continue", length(body)])}${body}`,
  "another expectation": (request, body) => `${head(request, ["expect: 200-ok", length(body)])}${body}`,
  "a large header": (request) => head(request, [`x: ${"y".repeat(20_000)}`]),
  "three thousand headers": (request) =>
    head(
      request,
      Array.from({ length: 3000 }, (_, index) => `x${index}: y`),
    ),
  "a header without a colon": (request) => head(request, ["nonsense"]),
  "a folded header": (request) => head(request, ["x: a", " b"]),
  "a header with NUL": (request) => head(request, ["x: a\0b"]),
  "two hosts": (request) => head(request, ["host: evil.example", "content-length: 0"]),
  "an unknown method": (request) => head(request, [], `BREW ${request.target.replace(/[^\x21-\x7e]/g, "")} HTTP/1.1`),
  "a method in small letters": (request) => head(request, [], "get /v1/documents/note HTTP/1.1"),
  "an absolute target": (request, body) =>
    `${head(request, [length(body)], `${request.method} http://127.0.0.1${request.target.replace(/[^\x21-\x7e]/g, "")} HTTP/1.1`)}${body}`,
  "a target that is an asterisk": (request) => head(request, [], "OPTIONS * HTTP/1.1"),
  "a tunnel": (request) => head(request, [], "CONNECT 127.0.0.1:80 HTTP/1.1"),
  "an upgrade": (request, body) => `${head(request, ["upgrade: websocket", length(body)])}${body}`,
  "an old version": (request) => head(request, [], `GET /healthz HTTP/1.0`),
  "a version that is none": (request) => head(request, [], `GET /healthz HTTP/9.9`),
  "percent signs that encode nothing": (request) => head(request, [], `GET /v1/documents/note/%zz%ff%00 HTTP/1.1`),
  "raw bytes in the target": (request) => head(request, [], "GET /v1/documents/note/\u00e9\u0080 HTTP/1.1"),
  "a space in the target": (request) => head(request, [], "GET /v1/documents/note/a b HTTP/1.1"),
  "two requests at once": (request, body) => {
    const first = head(request, [length(body)]).replace("connection: close\r\n", "");
    return `${first}${body}GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`;
  },
  "bare line feeds": (request, body) => `${head(request, [length(body)]).replaceAll("\r\n", "\n")}${body}`,
  "flipped bytes": (request, body, random) => {
    const text = `${head(request, [length(body)])}${body}`;
    const at = random.below(text.length);
    return `${text.slice(0, at)}${String.fromCharCode(random.below(256))}${text.slice(at + 1)}`;
  },
  "a request that is cut": (request, body, random) => {
    const text = `${head(request, [length(body)])}${body}`;
    return text.slice(0, random.below(text.length));
  },
};

/** One of the ways to spoil a request on its way, by the seed. */
export function rawBytes(request: WireRequest, random: SeededRandom): RawRequest {
  const names = Object.keys(makers);
  const what = names[random.below(names.length)] ?? "";
  const body = (request.body ?? Buffer.alloc(0)).toString("latin1");
  const text = makers[what]?.(request, body, random) ?? "";
  return { what, bytes: Buffer.from(text, "latin1"), ends: true };
}
