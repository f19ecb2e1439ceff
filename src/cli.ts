#!/usr/bin/env node
/** The command line `dsp-gateway`. */
import { exitOnFault } from './cli/exit.js';
import { createProgram } from './cli/program.js';
import { processTerminal } from './cli/terminal.js';

await createProgram(processTerminal()).parseAsync().catch(exitOnFault);
