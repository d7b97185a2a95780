// The examples for agent frameworks use the frameworks that the tests have installed: one copy for both.
import { mkdir, rm, symlink } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const installed = fileURLToPath(new URL("../test/adapters/node_modules", import.meta.url));
const link = fileURLToPath(new URL("../examples/adapters/node_modules", import.meta.url));
await mkdir(fileURLToPath(new URL("../examples/adapters", import.meta.url)), { recursive: true });
await rm(link, { recursive: true, force: true });
// A junction needs no special right on Windows, but a whole path; elsewhere the link moves with the folder.
await symlink(process.platform === "win32" ? installed : "../../test/adapters/node_modules", link, "junction");
