import { InvalidArgumentError, Option } from 'commander';
import { stopSignal } from '../server/stop-signal.js';
import { InvalidInput } from '../simulator/invalid-input.js';
import type { SimulatorOptions } from '../simulator/simulator-api.js';
import { DEFAULT_SWITCHES, type Switches } from '../simulator/switches.js';
import { CommandError, EXIT } from './command-error.js';
import { command } from './define.js';
import { readNumber } from './flags.js';

interface SimulateOptions extends Required<Omit<SimulatorOptions, 'clock' | 'switches'>> {
  readonly switch: Partial<Switches>;
}

export const addSimulateCommand = command<SimulateOptions>({
  name: 'simulate',
  description: 'Run the platform simulator: the documented API, and switches for undocumented behavior.',
  examples: ['simulate --switch shape=nested --switch latencyMs=200'],
  own: (added) =>
    added
      .option('--host <host>', 'address', '127.0.0.1')
      .option('--port <port>', 'port; 0 picks a free one', readNumber, 9090)
      .option('--seed <number>', 'seed of the data', readNumber, 1)
      .option('--base-path <path>', 'path prefix of the API', '')
      .addOption(
        new Option('--switch <name=value>', 'set a switch; may be repeated')
          .default({}, 'realistic defaults')
          .argParser(addSwitch),
      )
      .addHelpText(
        'after',
        `\nSwitches: ${Object.keys(DEFAULT_SWITCHES).join(', ')}\nWhile it runs, curl <url>/_sim explains them.`,
      ),
  run: ({ options }) => simulate(options),
});

async function simulate({ host, port, seed, basePath, switch: switches }: SimulateOptions): Promise<void> {
  const { startSimulator } = await import('../simulator/simulator.js');
  const simulator = await startSimulator({ host, port, seed, basePath, switches }).catch((error: unknown) => {
    throw simpler(error, port);
  });
  const { username, password, clientId, clientSecret } = simulator.account;
  process.stdout.write(`The platform simulator listens on ${simulator.url}

  PLATFORM_BASE_URL=${simulator.url}
way 1, dashboard token:
  PLATFORM_TOKEN=${simulator.token}
way 2, token request:
  PLATFORM_USERNAME=${username} PLATFORM_PASSWORD=${password}
  PLATFORM_CLIENT_ID=${clientId} PLATFORM_CLIENT_SECRET=${clientSecret}
switches, faults and recorded calls:
  curl ${simulator.url}/_sim

Ctrl-C stops it.
`);
  await stopSignal();
  await simulator.close();
}

/** Usage errors as one line; other errors unchanged. */
function simpler(error: unknown, port: number): unknown {
  if (error instanceof InvalidInput || error instanceof RangeError)
    return new CommandError(error.message, EXIT.data);
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    ? new CommandError(`port ${port} is taken; --port 0 picks a free one`, 1)
    : error;
}

/** A value is JSON if it parses, else text: `shape=nested`, `latencyMs=200`, `emptyDays=["2026-11-01"]`. */
function addSwitch(text: string, before: Partial<Switches>): Partial<Switches> {
  const cut = text.indexOf('=');
  if (cut < 1) throw new InvalidArgumentError('It takes the form name=value.');
  const value = text.slice(cut + 1);
  try {
    return { ...before, [text.slice(0, cut)]: JSON.parse(value) as unknown };
  } catch {
    return { ...before, [text.slice(0, cut)]: value };
  }
}
