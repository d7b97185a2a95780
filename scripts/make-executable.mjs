// Makes the built command executable: the compiler writes it as any other file, and `npx` runs it where it lies.
import { chmodSync } from "node:fs";

chmodSync(new URL("../dist/cli/oncekv.cjs", import.meta.url), 0o755);
