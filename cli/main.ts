#!/usr/bin/env node
import { runCommandLine } from "./program.js";
import { expectBrokenPipes, processTerminal } from "./terminal.js";

expectBrokenPipes();
process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal);
