#!/usr/bin/env node
/** `dsp-gateway`: the command line. Every command says by `--help` what it takes. */
import { exitOnFault } from './cli/exit.js';
import { createProgram } from './cli/program.js';
import { processTerminal } from './cli/terminal.js';

await createProgram(processTerminal()).parseAsync().catch(exitOnFault);
