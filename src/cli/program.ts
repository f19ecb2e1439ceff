/** Every command, in the order in which help and docs show them. */
import { Command } from 'commander';
import { VERSION } from '../lib/package-root.js';
import { addCacheCommands } from './cache.js';
import type { AddCommand } from './call-command.js';
import { EXIT_CODES } from './command-error.js';
import { addConfigCommands } from './config.js';
import { withExamples } from './define.js';
import { addDoctorCommand } from './doctor.js';
import { faultOf } from './exit.js';
import { addHistoryCommands } from './history.js';
import { addKeysCommands } from './keys.js';
import { addAuditCommand, addStatusCommand, addUsageCommand } from './overview.js';
import { addRegistryCommands } from './registry.js';
import { addReportCommands } from './report.js';
import { addSimulateCommand } from './simulate.js';
import { addStoreCommands } from './store.js';
import { addTailCommand } from './tail.js';
import { addApplyCommand, addTeamsCommands } from './teams.js';
import type { Terminal } from './terminal.js';
import { addTokenCommands } from './token.js';
import { addWritesCommands } from './writes.js';

const COMMANDS: readonly AddCommand[] = [
  addServeCommand,
  addDemoCommand,
  addSimulateCommand,
  addConfigCommands,
  addStatusCommand,
  addDoctorCommand,
  addTeamsCommands,
  addApplyCommand,
  addKeysCommands,
  addTokenCommands,
  addCacheCommands,
  addHistoryCommands,
  addWritesCommands,
  addReportCommands,
  addUsageCommand,
  addTailCommand,
  addAuditCommand,
  addRegistryCommands,
  addStoreCommands,
];

export function createProgram(terminal: Terminal): Command {
  const program = new Command('dsp-gateway')
    .description('One in-house URL in front of an advertising (DSP) platform.')
    .version(VERSION)
    .showHelpAfterError('(see --help)')
    .configureHelp({ sortSubcommands: false })
    .exitOverride()
    .configureOutput({ writeOut: terminal.print, writeErr: terminal.say })
    .addHelpText('after', `\nExit codes:\n${EXIT_CODES.map(exitLine).join('\n')}`);
  for (const add of COMMANDS) add(program, terminal);
  return program;
}

function exitLine([code, meaning]: readonly [number, string]): string {
  return `  ${String(code).padStart(2)}  ${meaning}`;
}

function addServeCommand(program: Command, { env }: Terminal): void {
  const serve = program
    .command('serve')
    .description(
      'Run the gateway with the settings of the environment and of GATEWAY_CONFIG; all of them: config table.',
    )
    .action(async () => {
      const [{ loadConfig, proxySettings }, { serve: run }] = await Promise.all([
        import('../config/load.js'),
        import('../server/serve.js'),
      ]);
      await run(loadConfig(env), proxySettings(env), faultOf);
    });
  withExamples(serve, [
    'PLATFORM_BASE_URL=https://platform.example PLATFORM_TOKEN_FILE=/run/secrets/token dsp-gateway serve',
  ]);
}

function addDemoCommand(program: Command, { env }: Terminal): void {
  const demo = program
    .command('demo')
    .description(
      'Simulator, gateway and a team with a key in one process, on the embedded store. PORT and ADMIN_PORT are honoured; ports that are taken are replaced by free ones.',
    )
    .option(
      '--once',
      'make a few real calls, say what they cost, and end; exit code 1 when an answer is wrong',
    )
    .action(async ({ once = false }: { once?: boolean }) => {
      const { runDemo } = await import('./run-demo.js');
      await runDemo(env, once);
    });
  withExamples(demo, ['demo', 'demo --once']);
}
