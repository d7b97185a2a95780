import { runCommand } from "./command.js";
import { groups } from "./groups.js";

// At an interrupt the round under way is finished, then processes are stopped and folders removed. At a second one the
// process ends as it stands.
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());

process.exitCode = await runCommand(process.argv.slice(2), {
  groups,
  signal: interrupted.signal,
  print: (text) => console.log(text),
  say: (line) => console.error(line),
});
