import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EventStreamParser, type ServerSentEvent } from "../../client/event-stream-parser.js";

function parse(...pieces: (string | Uint8Array)[]): ServerSentEvent[] {
  const parser = new EventStreamParser();
  return pieces.flatMap((piece) => parser.push(typeof piece === "string" ? Buffer.from(piece) : piece));
}

describe("the parser of event streams", () => {
  test("reads an event with its type, id and data", () => {
    expect(parse('event: bookmark\nid: 7\ndata: {"revision":7}\n\n')).toEqual([
      { type: "bookmark", id: "7", data: '{"revision":7}' },
    ]);
  });

  test("calls an event without a type a message", () => {
    expect(parse("data: a\n\nevent: error\ndata: b\n\ndata: c\n\n").map(({ type }) => type)).toEqual([
      "message",
      "error",
      "message",
    ]);
  });

  test("joins several lines of data with line feeds", () => {
    expect(parse("data: a\ndata:\ndata:  b\n\n")[0]?.data).toBe("a\n\n b");
  });

  test("takes at most one space after the colon away", () => {
    expect(parse("data:a\n\ndata: a\n\ndata:  a\n\n").map(({ data }) => data)).toEqual(["a", "a", " a"]);
  });

  test("passes comments, unknown fields and events without data over", () => {
    expect(parse(": heartbeat\n\nretry: 10\nfoo\n\nid: 3\n\nevent: error\n\ndata: a\n\n")).toEqual([
      { type: "message", id: "3", data: "a" },
    ]);
  });

  test("ends lines with a line feed, a carriage return, or both", () => {
    const events = [
      { type: "message", id: "1", data: "a\nb" },
      { type: "message", id: "2", data: "c" },
    ];
    const lines = ["id: 1", "data: a", "data: b", "", "id: 2", "data: c", "", ""];
    for (const end of ["\n", "\r", "\r\n"]) expect(parse(lines.join(end), end)).toEqual(events);
  });

  test("does not take a line feed in the next piece for an empty line", () => {
    expect(parse("data: a\r", "\ndata: b\r", "\n\r", "\n")).toEqual([{ type: "message", id: "", data: "a\nb" }]);
  });

  test("keeps a character that is split between two pieces", () => {
    const bytes = Buffer.from("data: \u{1F600}\u4e2d\n\n");
    for (let at = 0; at <= bytes.length; at++) {
      expect(parse(bytes.subarray(0, at), bytes.subarray(at))[0]?.data).toBe("\u{1F600}\u4e2d");
    }
  });

  test("passes a byte order mark at the start over, and only there", () => {
    expect(parse("\ufeffdata: a\n\ndata: \ufeff\n\n").map(({ data }) => data)).toEqual(["a", "\ufeff"]);
  });

  test("drops an event that the stream ends in the middle of", () => {
    expect(parse("data: a\n\nid: 2\ndata: half")).toEqual([{ type: "message", id: "", data: "a" }]);
    expect(parse("data: whole\n")).toEqual([]);
  });

  test("gives the same events however the stream is cut", () => {
    const event = fc.record({
      type: fc.constantFrom("message", "bookmark", "error"),
      id: fc.nat().map(String),
      data: fc.stringMatching(/^[ -~\u00e9\u4e2d\u{1F600}\n]*$/u),
    });
    const inputs = fc.record({
      events: fc.array(event, { maxLength: 5 }),
      end: fc.constantFrom("\n", "\r", "\r\n"),
      cuts: fc.array(fc.nat(400)),
    });
    fc.assert(
      fc.property(inputs, ({ events, end, cuts }) => {
        const text = events
          .map(({ type, id, data }) => {
            const lines = data.split("\n").map((line) => `data: ${line}`);
            return [`event: ${type}`, `id: ${id}`, ...lines, ":", "", ""].join(end);
          })
          .join("");
        const bytes = Buffer.from(text);
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
        expect(parse(...pieces)).toEqual(events);
      }),
    );
  });

  test("refuses an event that never ends", () => {
    const parser = new EventStreamParser(100);
    expect(() => parser.push(Buffer.from("data: short\n\n".repeat(20)))).not.toThrow();
    expect(() => parser.push(Buffer.from("data: aaaaaaaaaaaaaa\n".repeat(8)))).toThrow(RangeError);
    expect(() => new EventStreamParser(100).push(Buffer.from("x".repeat(101)))).toThrow(RangeError);
  });
});
