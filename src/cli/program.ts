/** All commands, in the order of help and docs. */
import type { Command } from 'commander';
import { BUILD } from '../lib/package-root.js';
import { versionOf } from '../lib/words.js';
import { addCacheCommands } from './cache.js';
import { addChangesCommand } from './changes.js';
import { EXIT_CODES } from './command-error.js';
import { addConfigCommands } from './config.js';
import { type AddCommand, command } from './define.js';
import { addDoctorCommand } from './doctor.js';
import { faultOf } from './exit.js';
import { addHistoryCommands } from './history.js';
import { addKeysCommands } from './keys.js';
import { addAuditCommand, addStatusCommand, addUsageCommand } from './overview.js';
import { addRegistryCommands } from './registry.js';
import { addLearnCommand, addReportCommands } from './report.js';
import type { DemoOptions } from './run-demo.js';
import { addLoginCommand, addLogoutCommand, addSessionsCommands, addWhoamiCommand } from './sign-in.js';
import { addSimulateCommand } from './simulate.js';
import { addStoreCommands } from './store.js';
import { StrictCommand } from './strict-command.js';
import { addRequestsCommands, addTailCommand } from './tail.js';
import { addApplyCommand, addTeamsCommands } from './teams.js';
import type { Terminal } from './terminal.js';
import { addTokenCommands } from './token.js';
import { addWatchCommands } from './watch.js';
import { addWritesCommands } from './writes.js';

const addServeCommand = command({
  name: 'serve',
  description: 'Run the gateway with settings from the environment and GATEWAY_CONFIG (see config table).',
  examples: [
    'PLATFORM_BASE_URL=https://platform.example PLATFORM_TOKEN_FILE=/run/secrets/token dsp-gateway serve',
  ],
  async run({ terminal: { env } }) {
    const [{ loadConfig, proxySettings }, { serve }] = await Promise.all([
      import('../config/load.js'),
      import('../server/serve.js'),
    ]);
    await serve(loadConfig(env), proxySettings(env), faultOf);
  },
});

const addDemoCommand = command<DemoOptions>({
  name: 'demo',
  description:
    'Run simulator and gateway in one process, with five weeks of five teams played on them. Uses PORT and ADMIN_PORT, or free ports if taken.',
  examples: ['demo', 'demo --empty', 'demo --once'],
  own: (added) =>
    added
      .option('--empty', 'start with one team, without its past')
      .option('--quiet', 'make no more requests after the past')
      .option('--once', 'make some calls, show their cost, and end; exit code 1 if an answer is wrong'),
  async run({ options, terminal }) {
    const { runDemo } = await import('./run-demo.js');
    await runDemo(terminal.env, options);
  },
});

const COMMANDS: readonly AddCommand[] = [
  addServeCommand,
  addDemoCommand,
  addSimulateCommand,
  addConfigCommands,
  addLoginCommand,
  addLogoutCommand,
  addWhoamiCommand,
  addStatusCommand,
  addDoctorCommand,
  addTeamsCommands,
  addApplyCommand,
  addKeysCommands,
  addSessionsCommands,
  addTokenCommands,
  addCacheCommands,
  addHistoryCommands,
  addWritesCommands,
  addReportCommands,
  addChangesCommand,
  addLearnCommand,
  addWatchCommands,
  addUsageCommand,
  addTailCommand,
  addRequestsCommands,
  addAuditCommand,
  addRegistryCommands,
  addStoreCommands,
];

export function createProgram(terminal: Terminal): Command {
  const exitCodes = EXIT_CODES.map(([code, meaning]) => `  ${String(code).padStart(2)}  ${meaning}`);
  const program = new StrictCommand('dsp-gateway')
    .description('One in-house URL in front of an advertising (DSP) platform.')
    .version(versionOf(BUILD))
    .showHelpAfterError('(see --help)')
    .configureHelp({ sortSubcommands: false })
    .exitOverride()
    .configureOutput({ writeOut: terminal.print, writeErr: terminal.say })
    .addHelpText('after', `\nExit codes:\n${exitCodes.join('\n')}`);
  for (const add of COMMANDS) add(program, terminal);
  return program;
}
