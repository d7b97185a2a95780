import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parseTokens } from "../../server/index.js";
import { EventReader } from "./events.js";
import { registeredRoutes } from "./routes.js";
import { startServer } from "./test-server.js";

const page = await readFile(new URL("../../docs/http-api.md", import.meta.url), "utf8");

/** The blocks of code on the page, in order. */
const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({
  language,
  text,
}));

interface CurlCommand {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** Understands as much of a shell and of curl as the page uses, and refuses the rest. */
function parseCurl(command: string): CurlCommand {
  const words = [...command.replaceAll("\\\n", " ").matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? "",
  );
  if (words.shift() !== "curl") throw new Error(`not a curl command: ${command}`);
  let method = "GET";
  let url: URL | undefined;
  let body: string | undefined;
  const headers: Record<string, string> = {};
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "-X") method = words.shift() ?? "";
    else if (word === "-d") body = words.shift() ?? "";
    else if (word === "-H") {
      const [name = "", value = ""] = (words.shift() ?? "").split(/: (.*)/s);
      headers[name.toLowerCase()] = value;
    } else if (word.startsWith("http://127.0.0.1:7070/")) url = new URL(word);
    else if (word !== "-N") throw new Error(`an unknown word: ${word}`);
  }
  if (url === undefined) throw new Error(`no address: ${command}`);
  return { method, path: url.pathname + url.search, headers, ...(body === undefined ? {} : { body }) };
}

test("the page's table of routes is the list of the server's routes", async () => {
  const { app } = await startServer();
  const listed = [...page.matchAll(/^\| `(GET|PUT|PATCH|DELETE|POST) (\S+)` \|/gm)].map(
    ([, method, path]) => `${method} ${path}`,
  );
  expect(listed.sort()).toEqual(registeredRoutes(app));
});

test("every example on the page, run in order, answers what the page shows", async () => {
  const { request, port } = await startServer();
  let examples = 0;
  for (const [index, { language, text }] of blocks.entries()) {
    if (language !== "sh") continue;
    const command = parseCurl(text);
    const shown = blocks[index + 1];
    if (shown?.language === "text") {
      const stream = await EventReader.open(port, command.path, command.headers);
      for (const event of shown.text.trim().split("\n\n")) {
        const members = new Map(
          event.split("\n").map((line): [string, string] => [line.split(": ")[0] ?? "", line.replace(/^\w+: /, "")]),
        );
        expect(await stream.next()).toEqual({
          event: members.get("event") ?? "message",
          id: members.get("id"),
          data: JSON.parse(members.get("data") ?? ""),
        });
      }
    } else {
      const { method, path, headers, body } = command;
      const answer = await request(method, path, { headers, ...(body === undefined ? {} : { body }) });
      const [head = "", shownBody = ""] = (shown?.text ?? "").split(/\n\n(.*)/s);
      const [statusLine, ...headerLines] = head.trim().split("\n");
      expect(`HTTP/1.1 ${answer.status}`, text).toBe(statusLine);
      for (const line of headerLines) {
        const [name = "", value] = line.split(/: (.*)/s);
        expect(answer.headers[name], `${name} of ${text}`).toBe(value);
      }
      if (shownBody === "") expect(answer.text).toBe("");
      else expect(answer.json, text).toEqual(JSON.parse(shownBody));
    }
    examples += 1;
  }
  expect(examples).toBe(10);
});

test("the tokens file on the page is one that the server reads", () => {
  const file = blocks.find(({ language }) => language === "json");
  expect(parseTokens(JSON.parse(file?.text ?? ""))).toHaveLength(1);
});
