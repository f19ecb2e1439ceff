/** Several workers that share the port: started, replaced when one ends, and stopped together. */
import cluster, { type Worker } from 'node:cluster';
import type { Logger } from 'pino';
import Type from 'typebox';
import { type RecordOf, recordForm } from '../lib/record.js';
import { sleep, startTimer } from '../lib/time.js';

/** What ended a start, as it is told to people, and the exit code that says so. */
export interface StartFault {
  readonly lines: readonly string[];
  readonly code: number;
}

/** The workers cannot be started; the reason was told by one of them, or is that they ended without a word. */
export class WorkersFailed extends Error {
  override readonly name = 'WorkersFailed';
  constructor(readonly fault: StartFault) {
    super(fault.lines.join('\n'));
  }
}

/** Pause before a worker that died is replaced, so that a broken one does not spin. */
const RESTART_MS = 1000;
/** So many starts in a row that come to nothing end the whole: who supervises it, or a person, has to know. */
const MOST_FAILED_STARTS = 3;

const Told = recordForm(
  Type.Object({ startFault: Type.Object({ lines: Type.Array(Type.String()), code: Type.Number() }) }),
);

/** In a worker whose start failed: the supervisor tells it once for all of them. */
export async function tellSupervisor(startFault: StartFault): Promise<void> {
  if (!process.connected) return;
  await new Promise<void>((resolve) => {
    process.send?.(
      { startFault: { ...startFault, lines: [...startFault.lines] } } satisfies RecordOf<typeof Told>,
      () => resolve(),
    );
  });
}

export interface SupervisionOptions {
  readonly count: number;
  readonly logger: Logger;
  /** Told of each worker when it is started. */
  readonly follow: (worker: Worker) => void;
}

export function superviseWorkers({ count, logger, follow }: SupervisionOptions) {
  let stopping = false;
  let everListened = false;
  let failedStarts = 0;
  let giveUp: (error: WorkersFailed) => void = () => {};
  const failed = new Promise<never>((_resolve, reject) => {
    giveUp = reject;
  });
  failed.catch(() => {});

  /** A start that fails before anything ever worked fails for all, as it does without workers. */
  function onFailedStart(told: StartFault | null, how: string): boolean {
    failedStarts += 1;
    if (told !== null && !everListened) giveUp(new WorkersFailed(told));
    else if (failedStarts >= MOST_FAILED_STARTS)
      giveUp(
        new WorkersFailed(
          told ?? {
            lines: [`${failedStarts} workers in a row ended at their start (${how}); the log may say why`],
            code: 1,
          },
        ),
      );
    else return false;
    return true;
  }

  function start(): void {
    let told: StartFault | null = null;
    let listened = false;
    const worker = cluster.fork();
    worker.on('message', (message: unknown) => {
      if (Told.is(message)) told = message.startFault;
    });
    // Node deals connections by messages of its own: one to a worker that has just died must not end all others.
    worker.on('error', (error) => {
      logger.warn({ err: error }, 'a worker could not be reached; if it has died, another is started');
    });
    worker.once('listening', () => {
      listened = true;
      everListened = true;
      failedStarts = 0;
    });
    worker.once('exit', (code, signal) => {
      if (stopping) return;
      const how = signal === null ? `exit code ${code}` : signal;
      logger.error({ code, signal, reason: told?.lines.join('; ') }, 'a worker ended; starting another');
      if (!listened && onFailedStart(told, how)) stopping = true;
      else startTimer(() => !stopping && start(), RESTART_MS);
    });
    follow(worker);
  }

  for (let index = 0; index < count; index++) start();
  return {
    /** Rejects with {@link WorkersFailed}; never resolves. */
    failed,
    /** Ends all workers. @param withinMs after which those that are left are given up */
    async stop(withinMs: number): Promise<void> {
      stopping = true;
      const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
      const ended = Promise.all(
        workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve))),
      );
      for (const worker of workers) worker.process.kill('SIGTERM');
      await Promise.race([ended, sleep(withinMs, { ref: false })]);
    },
  };
}
