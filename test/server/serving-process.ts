/* A process of its own that serves until a signal comes, for the tests of signals. */
import { closeOnSignals, serve } from "../../server/index.js";

const [dataDir = ""] = process.argv.slice(2);
const server = await serve({ dataDir, port: 0, logLevel: "silent" });
process.stdout.write(`${server.url}\n`);
const signal = await closeOnSignals(server);
process.stdout.write(`closed after ${signal}\n`);
