#!/usr/bin/env node
/** `dsp-gateway`: the command line. Every command says by `--help` what it takes. */
import { Command } from 'commander';
import { addCacheCommands } from './commands/cache.js';
import { addConfigCommands } from './commands/config.js';
import { addDemoCommand } from './commands/demo.js';
import { exitOnFault } from './commands/exit.js';
import { addServeCommand } from './commands/serve.js';
import { addSimulateCommand } from './commands/simulate.js';
import { VERSION } from './version.js';

const program = new Command('dsp-gateway')
  .description('One in-house URL in front of an advertising (DSP) platform.')
  .version(VERSION)
  .showHelpAfterError('(see --help)')
  .configureHelp({ sortSubcommands: false });

addServeCommand(program);
addDemoCommand(program);
addSimulateCommand(program);
addCacheCommands(program);
addConfigCommands(program);

await program.parseAsync().catch(exitOnFault);
