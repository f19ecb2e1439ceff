/** Faults of a command as exit codes: 78 for settings (EX_CONFIG of sysexits), 1 for everything else. */
import { ConfigError } from '../config/load.js';
import { SealError } from '../credential/seal.js';
import { StoreRefused } from '../store/refused.js';
import { CommandError } from './admin-client.js';

const EX_CONFIG = 78;

/** Says what is wrong, one line per fault, and ends the process. */
export function exitOnFault(error: unknown): never {
  if (error instanceof ConfigError) {
    for (const fault of error.faults) process.stderr.write(`${fault}\n`);
    process.exit(EX_CONFIG);
  }
  if (error instanceof StoreRefused || error instanceof SealError) {
    process.stderr.write(`${error.message}\n`);
    process.exit(EX_CONFIG);
  }
  if (error instanceof CommandError) {
    process.stderr.write(`${error.message}\n`);
    process.exit(error.exitCode);
  }
  const { code, message, stack } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE' || code === 'EACCES') {
    process.stderr.write(`${message}; set PORT, ADMIN_PORT or METRICS_PORT to a free port (0 picks one)\n`);
  } else {
    process.stderr.write(`${stack ?? message}\n`);
  }
  process.exit(1);
}
