/** `dsp-gateway serve`: one process, or one that supervises several workers sharing the port. */
import cluster from 'node:cluster';
import type { Config, ProxySettings } from '../config/load.js';
import { createLog, type Log } from '../telemetry/logger.js';
import { type Running, run } from './run.js';
import { stopSignal } from './stop-signal.js';
import { joinSupervisor, type StartFault, sendStartFault, Workers } from './workers.js';

/**
 * Runs until a signal stops it; then the process ends by itself with code 0.
 * @param describe how what was thrown is told to people: a worker whose start failed tells its supervisor
 * @throws what ended the start; WorkersFailed where workers were to share the port
 */
export async function serve(
  config: Config,
  proxy: ProxySettings,
  describe: (error: unknown) => Promise<StartFault>,
): Promise<void> {
  // Whoever reads standard error may be gone, like the reader of the log: no reason to end.
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

/** A start may take long, while Redis is away; a stop that comes meanwhile finds nothing to finish. */
async function startUnless(stop: Promise<void>, start: Promise<Running>, log: Log): Promise<Running> {
  const running = await Promise.race([start, stop]);
  if (running) return running;
  await log.close();
  process.exit(0);
}

/** The admin plane lives in the supervisor, the data plane in the workers. @throws WorkersFailed */
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

/** What nobody expected is logged, and the process ends: going on in an unknown state would be worse. */
function crashOnSurprise({ logger, close }: Log): void {
  const crash = (kind: string) => (error: unknown) => {
    logger.fatal({ err: error }, kind);
    void close().finally(() => process.exit(1));
  };
  process.on('uncaughtException', crash('uncaught exception'));
  process.on('unhandledRejection', crash('unhandled rejection'));
}

/**
 * Node would listen for a debugger on the loopback, without a password: whoever reaches that reads every secret. Only a
 * process that is started with `--inspect` has one.
 */
function openNoDebugger({ logger }: Log): void {
  process.on('SIGUSR1', () =>
    logger.warn('SIGUSR1 opens no debugger; start with node --inspect to have one'),
  );
}

/** The token itself is shown to a person at a terminal only, never to a log collector. */
function announceAdminToken({ adminToken, adminTokenPath }: Running): void {
  if (adminTokenPath === null) return;
  const shown = process.stderr.isTTY ? ` (${adminToken})` : '';
  process.stderr.write(`The admin token is in ${adminTokenPath}${shown}\n`);
}
