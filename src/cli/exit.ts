/** Errors of a command as lines for standard error and an exit code. */
import { CommanderError } from 'commander';
import { turn } from '../lib/time.js';
import { CommandError, EXIT } from './command-error.js';
import { plainText } from './plain-text.js';

export interface Fault {
  readonly lines: readonly string[];
  readonly code: number;
}

/** Server modules are loaded only here: most commands do not need them. */
export async function faultOf(error: unknown): Promise<Fault> {
  // Commander has printed its message already.
  if (error instanceof CommanderError) return { lines: [], code: codeOf(error) };
  if (error instanceof CommandError)
    return { lines: error.message === '' ? [] : [error.message], code: error.exitCode };
  const [{ ConfigError }, { SealError }, { StoreRefused }, { WorkersFailed }, { DamagedRecord }] =
    await Promise.all([
      import('../config/load.js'),
      import('../platform/credential/seal.js'),
      import('../store/refused.js'),
      import('../server/workers.js'),
      import('../lib/record.js'),
    ]);
  if (error instanceof WorkersFailed) return error.fault;
  if (error instanceof ConfigError) return { lines: error.faults, code: EXIT.settings };
  if (error instanceof StoreRefused || error instanceof SealError) {
    return { lines: [error.message], code: EXIT.settings };
  }
  if (error instanceof DamagedRecord)
    return { lines: [`${error.message}; restore the store from a backup`], code: EXIT.settings };
  const { code, message, stack } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE' || code === 'EACCES') {
    const advice = 'set PORT, ADMIN_PORT or METRICS_PORT to a free port (0 picks one)';
    return { lines: [`${message}; ${advice}`], code: 1 };
  }
  // Lookups of other servers never end a command.
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    const advice = 'set HOST and ADMIN_HOST to an address or host name of this machine';
    return { lines: [`${message}; ${advice}`], code: EXIT.settings };
  }
  return { lines: [stack ?? message], code: 1 };
}

function codeOf({ code, exitCode }: CommanderError): number {
  if (exitCode === 0) return 0;
  return code === 'commander.invalidArgument' ? EXIT.data : EXIT.usage;
}

export async function exitOnFault(error: unknown): Promise<never> {
  const { lines, code } = await faultOf(error);
  for (const line of lines) process.stderr.write(`${plainText(line)}\n`);
  process.exitCode = code;
  // A failed write to standard output is reported in the next turn, and ends the process with its own code.
  await turn();
  process.exit();
}
