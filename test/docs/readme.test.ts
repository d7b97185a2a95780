import { access, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const readme = await readFile(join(root, "README.md"), "utf8");

async function pages(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  const found = await Promise.all(
    entries.map((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return pages(path);
      return entry.name.endsWith(".md") ? [path] : [];
    }),
  );
  return found.flat();
}

describe("the README", () => {
  it("has the line that CI runs as its tests", async () => {
    const ci = await readFile(join(root, ".ci/run"), "utf8");
    const line = /^run "(npm ci && [^"]*)"$/m.exec(ci)?.[1];
    expect(line).toBe("npm ci && npm run frameworks && npm test");
    expect(readme).toContain(`\`\`\`sh\n${line}\n\`\`\``);
  });

  it("names npm scripts that exist", async () => {
    const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { scripts: object };
    const named = [...readme.matchAll(/npm (?:run )?(start|test|demo|bench|verify|fix|build)\b/g)].map(
      ([, name]) => name,
    );
    expect(new Set(named).size).toBeGreaterThan(4);
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
  });
});

describe("the examples that the documentation names", () => {
  it("are there", async () => {
    const texts = await Promise.all(
      ["README.md", ...(await pages("docs"))].map((page) => readFile(join(root, page), "utf8")),
    );
    const named = texts.flatMap((text) =>
      [...text.matchAll(/\bexamples\/[\w/-]+\.(?:ts|jsonl)\b/g)].map(([path]) => path),
    );
    expect(named.length).toBeGreaterThan(0);
    for (const path of named) await expect(access(join(root, path)), path).resolves.toBeUndefined();
  });
});

describe("the pages of the documentation", () => {
  it("link to files that are there", async () => {
    const all = ["README.md", "CHANGELOG.md", ...(await pages("docs"))];
    let links = 0;
    for (const page of all) {
      const text = await readFile(join(root, page), "utf8");
      for (const [, target] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
        links += 1;
        await expect(
          access(join(root, dirname(page), target ?? "")),
          `${page} links to ${target}`,
        ).resolves.toBeUndefined();
      }
    }
    expect(links).toBeGreaterThan(10);
  });
});
