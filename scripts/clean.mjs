// Removes the build output, so that a file deleted from the sources is not shipped from an older build.
import { rmSync } from "node:fs";

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
