import { createClock } from '../lib/clock.js';
import { createCalls } from './calls.js';
import { answerControl } from './control.js';
import { createEdge } from './create-edge.js';
import { createFaults } from './faults.js';
import { createPlatform } from './platform.js';
import { assemble, type Simulator, type SimulatorOptions } from './simulator-api.js';

export type { Fault } from './faults.js';
export type { Simulator, SimulatorOptions, TruthQuery } from './simulator-api.js';

/**
 * Starts a DSP platform that implements the platform's document; unspecified behavior is a switch.
 * @throws InvalidInput for unknown switches, RangeError for an invalid seed or base path, and the system's error if it
 *   cannot listen
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 0, seed = 1, clock = createClock(), basePath = '' } = options;
  if (!Number.isSafeInteger(seed)) throw new RangeError(`seed: is ${seed}; allowed: a whole number`);
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(basePath)) {
    throw new RangeError(`basePath: is ${JSON.stringify(basePath)}; allowed: '' or a path such as /dsp`);
  }
  const platform = createPlatform(seed, clock, options.switches ?? {});
  const calls = createCalls();
  const faults = createFaults();
  const edge = createEdge({
    platform,
    calls,
    faults,
    basePath,
    answerControl: (call) => answerControl(simulator, call),
  });
  const simulator = assemble(platform, calls, faults, edge);
  await edge.listen(host, port);
  return simulator;
}
