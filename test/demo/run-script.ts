import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a script of `examples/` as `npx tsx` does, in a process of its own. */
export function runScript(
  script: string,
  ...args: string[]
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    const command = ["--import", "tsx", `examples/${script}`, ...args];
    const child = execFile(process.execPath, command, { cwd: root }, (_, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}
