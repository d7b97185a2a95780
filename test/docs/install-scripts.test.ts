import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface LockedPackage {
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
}

const root = new URL("../../", import.meta.url);
const lock = JSON.parse(await readFile(new URL("package-lock.json", root), "utf8")) as {
  readonly packages: { readonly [path: string]: LockedPackage };
};
const packages = Object.entries(lock.packages).filter(([path]) => path.startsWith("node_modules/"));

test("every package in the lock file is pinned by its hash", () => {
  expect(packages.length).toBeGreaterThan(100);
  expect(packages.filter(([, { integrity, link }]) => integrity === undefined && link !== true)).toEqual([]);
});

test("what runs in production needs no install script: the one package with native code brings it, the other is optional", () => {
  const withScripts = packages.filter(([, about]) => about.hasInstallScript === true && about.dev !== true);
  expect(withScripts.map(([path, { optional = false }]) => [path, optional])).toEqual([
    ["node_modules/classic-level", false],
    ["node_modules/msgpackr-extract", true],
  ]);
  const prebuilt = fileURLToPath(new URL(`node_modules/classic-level/prebuilds/`, root));
  for (const platform of ["linux-x64", "darwin-x64+arm64", "win32-x64"]) {
    expect(existsSync(`${prebuilt}${platform}`), platform).toBe(true);
  }
});
