/** `dsp-gateway serve`: one process, or one that supervises several workers sharing the port. */
import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import type { Config, ProxySettings } from '../config/load.js';
import { createLog, type Log } from '../telemetry/logger.js';
import { type Running, run } from './run.js';
import { stopSignal } from './stop-signal.js';
import { joinSupervisor, type StartFault, sendStartFault, Workers } from './workers.js';

/**
 * Runs until a signal; then the process ends with code 0.
 * @param describe converts an error to lines and an exit code, which a worker sends to its supervisor
 * @throws the error of the start; WorkersFailed with several workers
 */
export async function serve(
  config: Config,
  proxy: ProxySettings,
  describe: (error: unknown) => Promise<StartFault>,
): Promise<void> {
  // V8 collects garbage once the heap has grown by this percentage. By default it may grow by up to 300 %, most of it garbage
  // (`npm run bench:memory`).
  setFlagsFromString('--heap-growing-percent=30');
  // A closed standard error must not end the process.
  process.stderr.on('error', () => {});
  const log = createLog({ level: config.logLevel });
  openNoDebugger(log);
  const { workers } = config.server;
  if (workers === 1)
    return runUntilSignal(log, () => run({ config, proxy, log, planes: ['data', 'admin', 'metrics'] }));
  if (cluster.isPrimary) return supervise(config, proxy, log);
  return runUntilSignal(log, async () => {
    const running = await run({ config, proxy, log, planes: ['data'] }).catch(async (error: unknown) => {
      const fault = await describe(error);
      await sendStartFault(fault);
      process.exit(fault.code);
    });
    joinSupervisor(running.services.health, running.services.metrics.registry);
    return running;
  });
}

async function runUntilSignal(log: Log, start: () => Promise<Running>): Promise<void> {
  const stop = stopSignal();
  const running = await startUnless(stop, start(), log);
  announceAdminToken(running);
  crashOnSurprise(log);
  await stop;
  await running.stop();
  if (cluster.isWorker) cluster.worker?.disconnect();
  process.exit(0);
}

/** The start may wait for Redis. A stop signal meanwhile ends the process at once. */
async function startUnless(stop: Promise<void>, start: Promise<Running>, log: Log): Promise<Running> {
  const running = await Promise.race([start, stop]);
  if (running) return running;
  await log.close();
  process.exit(0);
}

/** Runs the admin plane; workers run the data plane. @throws WorkersFailed */
async function supervise(config: Config, proxy: ProxySettings, log: Log): Promise<void> {
  const stop = stopSignal();
  const workers = new Workers(log.logger);
  const planes = ['admin', 'metrics'] as const;
  const running = await startUnless(stop, run({ config, proxy, log, planes, workers }), log);
  crashOnSurprise(log);
  workers.shareHealth(running.services.health);
  workers.start(config.server.workers);
  try {
    await Promise.race([stop, workers.failed]);
  } finally {
    await workers.stop((config.server.drainSeconds + 5) * 1000);
    await running.stop();
  }
  process.exit(0);
}

/** Logs an uncaught error and ends the process, whose state is unknown. */
function crashOnSurprise({ logger, close }: Log): void {
  const crash = (kind: string) => (error: unknown) => {
    logger.fatal({ err: error }, kind);
    void close().finally(() => process.exit(1));
  };
  process.on('uncaughtException', crash('uncaught exception'));
  process.on('unhandledRejection', crash('unhandled rejection'));
}

/**
 * On SIGUSR1 Node would open a debugger on the loopback without authentication, which exposes all secrets. Use `--inspect`
 * instead.
 */
function openNoDebugger({ logger }: Log): void {
  process.on('SIGUSR1', () =>
    logger.warn('SIGUSR1 opens no debugger; start with node --inspect to have one'),
  );
}

/** Shows the token itself on a terminal only. */
function announceAdminToken({ adminToken, adminTokenPath }: Running): void {
  if (adminTokenPath === null) return;
  const shown = process.stderr.isTTY ? ` (${adminToken})` : '';
  process.stderr.write(`The admin token is in ${adminTokenPath}${shown}\n`);
}
