/** Every command, in the order in which help and docs show them. */
import { Command } from 'commander';
import { VERSION } from '../version.js';
import { addApplyCommand } from './apply.js';
import { addAuditCommand } from './audit.js';
import { addCacheCommands } from './cache.js';
import { addConfigCommands } from './config.js';
import { addDemoCommand } from './demo.js';
import { addDoctorCommand } from './doctor.js';
import { EXIT_CODES } from './exit-codes.js';
import { addHistoryCommands } from './history.js';
import { addKeysCommands } from './keys.js';
import { addRegistryCommands } from './registry.js';
import { addReportCommands } from './report.js';
import { addServeCommand } from './serve.js';
import { addSimulateCommand } from './simulate.js';
import { addStatusCommand } from './status.js';
import { addStoreCommands } from './store.js';
import { addTailCommand } from './tail.js';
import { addTeamsCommands } from './teams.js';
import type { Terminal } from './terminal.js';
import { addTokenCommands } from './token.js';
import { addUsageCommand } from './usage.js';
import { addWritesCommands } from './writes.js';

export function createProgram(terminal: Terminal): Command {
  const program = new Command('dsp-gateway')
    .description('One in-house URL in front of an advertising (DSP) platform.')
    .version(VERSION)
    .showHelpAfterError('(see --help)')
    .configureHelp({ sortSubcommands: false })
    .exitOverride()
    .configureOutput({ writeOut: terminal.print, writeErr: terminal.say })
    .addHelpText('after', `\nExit codes:\n${EXIT_CODES.map(exitLine).join('\n')}`);
  addServeCommand(program, terminal);
  addDemoCommand(program, terminal);
  addSimulateCommand(program);
  addConfigCommands(program, terminal);
  addStatusCommand(program, terminal);
  addDoctorCommand(program, terminal);
  addTeamsCommands(program, terminal);
  addApplyCommand(program, terminal);
  addKeysCommands(program, terminal);
  addTokenCommands(program, terminal);
  addCacheCommands(program, terminal);
  addHistoryCommands(program, terminal);
  addWritesCommands(program, terminal);
  addReportCommands(program, terminal);
  addUsageCommand(program, terminal);
  addTailCommand(program, terminal);
  addAuditCommand(program, terminal);
  addRegistryCommands(program, terminal);
  addStoreCommands(program, terminal);
  return program;
}

function exitLine([code, meaning]: readonly [number, string]): string {
  return `  ${String(code).padStart(2)}  ${meaning}`;
}
