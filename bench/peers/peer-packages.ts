import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { MissingPeerError } from "./peer.js";

/** The peers' packages have a folder of their own, so that who only uses oncekv, or compiles it, installs none of them. */
const requireHere = createRequire(import.meta.url);

/** What makes up for a missing package. */
export const installingPeers = "npm ci --prefix bench/peers";

/**
 * Loads a package of `bench/peers/node_modules`.
 *
 * @typeParam Module the few names of it that are used, written by hand
 * @param probe tries what is loaded only when it is used, such as a native part
 * @throws MissingPeerError
 */
export function loadPeerPackage<Module>(name: string, probe: (module: Module) => void = () => {}): Module {
  packageVersion(name);
  try {
    const module = requireHere(name) as Module;
    probe(module);
    return module;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new MissingPeerError(`${name} cannot be loaded: ${reason}`, { cause: error });
  }
}

/** The version of an installed package. @throws MissingPeerError */
export function packageVersion(name: string): string {
  try {
    const text = readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8");
    return (JSON.parse(text) as { version: string }).version;
  } catch (error) {
    throw new MissingPeerError(`the package ${name} is not installed (${installingPeers})`, { cause: error });
  }
}
