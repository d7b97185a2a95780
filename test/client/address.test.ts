import { describe, expect, test } from "vitest";
import { parseAddress, unreachableMessage } from "../../client/address.js";
import { createClient, InvalidRequestError } from "../../client/index.js";

describe("the option url", () => {
  test("names scheme, host and port, and a path that is put before each request's own", () => {
    expect(parseAddress("http://127.0.0.1:7070")).toEqual({
      origin: "http://127.0.0.1:7070",
      basePath: "",
      host: "127.0.0.1:7070",
      hostname: "127.0.0.1",
    });
    expect(parseAddress("https://store.example/kv/")).toMatchObject({
      origin: "https://store.example",
      basePath: "/kv",
      host: "store.example:443",
    });
    expect(parseAddress("http://[::1]:7070")).toMatchObject({ host: "[::1]:7070" });
  });

  test.each(["", "127.0.0.1:7070", "ftp://a", "http://a/?b=c", "http://a/#b", "http://user:secret@a"])(
    "%j is refused",
    (url) => {
      expect(() => createClient({ url })).toThrow(expect.objectContaining({ code: "invalid_request", path: "url" }));
    },
  );
});

describe("options that are out of bounds are refused by name", () => {
  test.each([
    ["timeout", 0],
    ["timeout", -1],
    ["timeout", Number.NaN],
    ["timeout", 1e9],
    ["retryFor", -1],
    ["retryFor", 31],
    ["retryFor", "30"],
    ["connections", 0],
    ["connections", 1.5],
    ["token", ""],
    ["token", "two\r\nlines"],
    ["signal", {}],
  ])("%s: %j", (name, value) => {
    expect(() => createClient({ [name]: value })).toThrow(expect.objectContaining({ path: name }));
  });

  test("and a token is never shown", () => {
    const secret = "s3cret with space";
    expect(() => createClient({ token: secret })).toThrow(InvalidRequestError);
    expect(() => createClient({ token: secret })).not.toThrow(/s3cret/);
  });
});

describe("the message for a server that is not there", () => {
  const refused = Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" });

  test("names address, port and reason", () => {
    expect(unreachableMessage(parseAddress("http://127.0.0.1:7070"), refused)).toBe(
      "the server at 127.0.0.1:7070 cannot be reached: ECONNREFUSED",
    );
  });

  test("suggests 127.0.0.1 to those who said localhost", () => {
    expect(unreachableMessage(parseAddress("http://localhost:7070"), refused)).toContain("127.0.0.1");
    expect(unreachableMessage(parseAddress("http://localhost:7070"), new Error("timeout"))).not.toContain("127.0.0.1");
  });
});
