#!/usr/bin/env node
import { runCommandLine } from "./program.js";
import { mangledArgument } from "./raw-arguments.js";
import { expectUnwritableOutput, processTerminal } from "./terminal.js";

expectUnwritableOutput();
process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal, mangledArgument);
