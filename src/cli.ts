#!/usr/bin/env node
/** `dsp-gateway`: the command line. Every command says by `--help` what it takes. */
import { exitOnFault } from './commands/exit.js';
import { createProgram } from './commands/program.js';
import { processTerminal } from './commands/terminal.js';

await createProgram(processTerminal()).parseAsync().catch(exitOnFault);
