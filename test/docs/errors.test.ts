import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { errorTable } from "../../src/base/errors.js";

it("docs/errors.md lists every code with its status, whether it may be retried, and its meaning", async () => {
  const page = await readFile(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\d+) \| (yes|no) \| ([^|]+) \| [^|]+ \|$/gm)];
  const documented = rows.map(([, code, status, retryable, title]) => [
    code,
    Number(status),
    retryable === "yes",
    title,
  ]);
  const known = Object.entries(errorTable).map(([code, about]) => [code, about.status, about.retryable, about.title]);
  expect(documented).toEqual(known);
});
