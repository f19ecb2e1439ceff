/**
 * Workers that share the port: started, replaced when one ends, and stopped together. Worker and supervisor, of the same
 * release, communicate over the channel of `node:cluster`.
 */
import cluster, { type Worker } from 'node:cluster';
import type { Logger } from 'pino';
import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from 'prom-client';
import Type from 'typebox';
import { type Frozen, type RecordOf, recordForm } from '../lib/record.js';
import { sleep, startTicks, startTimer, stopTimer } from '../lib/time.js';
import { asProcessHealth, type Health, type ProcessHealth } from '../telemetry/health.js';

/** Why a start failed: lines for standard error, and the exit code. */
export interface StartFault {
  readonly lines: readonly string[];
  readonly code: number;
}

/** The workers could not be started. */
export class WorkersFailed extends Error {
  override readonly name = 'WorkersFailed';
  constructor(readonly fault: StartFault) {
    super(fault.lines.join('\n'));
  }
}

type Numbers = Frozen<MetricObjectWithValues<MetricValue<string>>[]>;

const Message = recordForm(
  Type.Object({
    startFault: Type.Optional(Type.Object({ lines: Type.Array(Type.String()), code: Type.Number() })),
    listening: Type.Optional(Type.Literal(true)),
    /** From a worker: its own; from the supervisor: of all processes. */
    health: Type.Optional(Type.Array(Type.Unknown())),
    /** Requests the worker's metrics; a sequence number. */
    ask: Type.Optional(Type.Number()),
    /** The sequence number that `numbers` answers. */
    answer: Type.Optional(Type.Number()),
    numbers: Type.Optional(Type.Unsafe<Numbers>(Type.Array(Type.Object({})))),
  }),
);
type Message = RecordOf<typeof Message>;

/** Interval of health messages. */
const BEAT_MS = 1000;

/** In a worker whose start failed. The supervisor shows the reason once. */
export async function sendStartFault(startFault: StartFault): Promise<void> {
  await new Promise<void>((resolve) => {
    if (process.connected) process.send?.({ startFault } satisfies Message, () => resolve());
    else resolve();
  });
}

/** In a listening worker: sends health and metrics, receives the health of other processes. */
export function joinSupervisor(health: Health, metrics: Registry): void {
  let others: readonly ProcessHealth[] = [];
  const send = (message: Message) => void (process.connected && process.send?.(message));
  process.on('message', (message: unknown) => {
    if (!Message.is(message)) return;
    if (message.health !== undefined) others = healthIn(message);
    const { ask } = message;
    if (ask !== undefined)
      void metrics.getMetricsAsJSON().then((numbers) => send({ answer: ask, numbers: numbers as Numbers }));
  });
  health.hear(() => others);
  send({ listening: true });
  const beat = () => send({ health: [health.own()] });
  beat();
  startTicks(beat, BEAT_MS).unref();
}

function healthIn({ health = [] }: Message): readonly ProcessHealth[] {
  return health.flatMap((one) => asProcessHealth(one) ?? []);
}

/** Delay before a worker is replaced. */
const RESTART_MS = 1000;
/** Consecutive failed starts after which the supervisor ends. */
const MAX_FAILED_STARTS = 3;
/** A stuck worker must not block scraping. */
const METRICS_WAIT_MS = 2000;

interface Known {
  startFault: StartFault | null;
  listening: boolean;
  /** Its last message. */
  health: ProcessHealth | null;
  numbers: Numbers;
}

/** In the supervisor. */
export class Workers {
  /** Rejects with {@link WorkersFailed}; never resolves. */
  readonly failed: Promise<never>;
  readonly #logger: Logger;
  readonly #known = new Map<Worker, Known>();
  readonly #questions = new Map<number, () => void>();
  #lastQuestion = 0;
  /** Counters of the workers that ended. */
  #ended: Numbers = [];
  #stopping = false;
  #everListened = false;
  #failedStarts = 0;
  #fail: (error: WorkersFailed) => void = () => {};

  constructor(logger: Logger) {
    this.#logger = logger;
    this.failed = new Promise<never>((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => {});
  }

  /** Whether a worker accepts requests. */
  get ready(): boolean {
    return !this.#stopping && [...this.#known.values()].some(({ listening }) => listening);
  }

  start(count: number): void {
    for (let index = 0; index < count; index++) this.#startOne();
  }

  #startOne(): void {
    const worker = cluster.fork();
    const known = this.add(worker);
    let listened = false;
    // Node sends connections as messages: one to a dead worker must not end the supervisor.
    worker.on('error', (error) => {
      this.#logger.warn(
        { err: error },
        'failed to send a message to a worker; if it has died, it will be replaced',
      );
    });
    worker.once('listening', () => {
      listened = true;
      this.#everListened = true;
      this.#failedStarts = 0;
    });
    worker.once('exit', (code, signal) => {
      if (this.#stopping) return;
      const how = signal === null ? `exit code ${code}` : signal;
      const reason = known.startFault?.lines.join('; ');
      this.#logger.error({ code, signal, reason }, 'a worker ended; starting another');
      if (!listened && this.#giveUp(known.startFault, how)) this.#stopping = true;
      else startTimer(() => !this.#stopping && this.#startOne(), RESTART_MS);
    });
  }

  /** If a start fails before any worker has listened, the whole start fails. */
  #giveUp(fault: StartFault | null, how: string): boolean {
    this.#failedStarts += 1;
    if ((fault === null || this.#everListened) && this.#failedStarts < MAX_FAILED_STARTS) return false;
    const lines = [
      `${this.#failedStarts} workers in a row ended at their start (${how}); the log may say why`,
    ];
    this.#fail(new WorkersFailed(fault ?? { lines, code: 1 }));
    return true;
  }

  add(worker: Worker): Known {
    const known: Known = { startFault: null, listening: false, health: null, numbers: [] };
    this.#known.set(worker, known);
    worker.on('message', (message: unknown) => {
      if (!Message.is(message)) return;
      known.startFault = message.startFault ?? known.startFault;
      known.listening ||= message.listening ?? false;
      known.health = healthIn(message)[0] ?? known.health;
      // Late metrics are still newer than known ones.
      known.numbers = message.numbers ?? known.numbers;
      if (message.answer !== undefined) this.#questions.get(message.answer)?.();
    });
    worker.once('exit', () => {
      this.#ended = addCounts(this.#ended, known.numbers);
      this.#known.delete(worker);
    });
    return known;
  }

  /** Adds the workers' health to that of this process, and sends each worker the health of all. */
  shareHealth(health: Health): void {
    const ofWorkers = () => [...this.#known.values()].flatMap((one) => one.health ?? []);
    health.hear(ofWorkers);
    startTicks(() => {
      const all: Message = { health: [health.own(), ...ofWorkers()] };
      // A stopping worker has closed its side.
      for (const worker of this.#known.keys()) if (worker.isConnected()) worker.send(all, () => {});
    }, BEAT_MS).unref();
  }

  /**
   * @returns the text of /metrics for this process and all workers. A worker that does not respond counts with its last
   *   values; counters of ended workers remain.
   */
  async metricsText(own: Registry): Promise<string> {
    const asked = [...this.#known].filter(([, { listening }]) => listening);
    await Promise.all(asked.map(([worker]) => this.#askMetrics(worker)));
    const ours = await own.getMetricsAsJSON();
    // Synchronously, so that an ending worker is counted once.
    const numbers = [...this.#known.values()].map((one) => one.numbers);
    return AggregatorRegistry.aggregate([this.#ended, ...numbers, ours]).metrics();
  }

  #askMetrics(worker: Worker): Promise<void> {
    this.#lastQuestion += 1;
    const ask = this.#lastQuestion;
    return new Promise((resolve) => {
      const done = () => {
        stopTimer(timer);
        this.#questions.delete(ask);
        resolve();
      };
      const timer = startTimer(done, METRICS_WAIT_MS);
      this.#questions.set(ask, done);
      // Do not wait for a dead worker.
      worker.send({ ask } satisfies Message, (error) => error && done());
    });
  }

  /** Ends all workers. @param withinMs time limit */
  async stop(withinMs: number): Promise<void> {
    this.#stopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    const ended = Promise.all(
      workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve))),
    );
    for (const worker of workers) worker.process.kill('SIGTERM');
    await Promise.race([ended, sleep(withinMs, { ref: false })]);
  }
}

/** Adds counters and histograms; gauges of an ended process are dropped. */
function addCounts(before: Numbers, more: Numbers): Numbers {
  const sums = AggregatorRegistry.aggregate([before, more]).getMetricsAsArray() as unknown as Numbers;
  return sums.filter(({ type }) => COUNTED.includes(String(type)));
}

const COUNTED: readonly string[] = ['counter', 'histogram'];
