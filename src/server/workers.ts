/**
 * Several workers that share the port: started, replaced when one ends, and stopped together. Worker and supervisor talk
 * over the cluster's channel, which needs no store: they are of one release, so a message has the form of this file.
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

/** What ended a start: the lines for people, and the exit code. */
export interface StartFault {
  readonly lines: readonly string[];
  readonly code: number;
}

/** The workers cannot be started: one of them gave the reason, or they ended without giving one. */
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
    /** Of the worker that sends it; of all processes, where the supervisor sends it. */
    health: Type.Optional(Type.Array(Type.Unknown())),
    /** A question for the worker's metrics, by its number. */
    ask: Type.Optional(Type.Number()),
    /** The number of the question that `numbers` answers. */
    answer: Type.Optional(Type.Number()),
    numbers: Type.Optional(Type.Unsafe<Numbers>(Type.Array(Type.Object({})))),
  }),
);
type Message = RecordOf<typeof Message>;

/** How often a process tells its health. */
const BEAT_MS = 1000;

/** In a worker whose start failed. The supervisor shows the reason once for all workers. */
export async function sendStartFault(startFault: StartFault): Promise<void> {
  await new Promise<void>((resolve) => {
    if (process.connected) process.send?.({ startFault } satisfies Message, () => resolve());
    else resolve();
  });
}

/** In a worker that listens: sends its health and its metrics, and takes the health of the other processes. */
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

/** Pause before a worker that ended is replaced, so that a broken one does not spin. */
const RESTART_MS = 1000;
/** After so many failed starts in a row the supervisor ends. */
const MAX_FAILED_STARTS = 3;
/** A worker that is stuck must not keep the others' metrics from being scraped. */
const METRICS_WAIT_MS = 2000;

/** What the supervisor knows of a worker that has not ended. */
interface Known {
  startFault: StartFault | null;
  listening: boolean;
  /** What it sent last; a worker that is silent still counts as that. */
  health: ProcessHealth | null;
  numbers: Numbers;
}

/** The workers, in the process that supervises them. */
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

  /** Whether a worker can take requests. */
  get ready(): boolean {
    return !this.#stopping && [...this.#known.values()].some(({ listening }) => listening);
  }

  /** Starts so many workers; each that ends is replaced. */
  start(count: number): void {
    for (let index = 0; index < count; index++) this.#startOne();
  }

  #startOne(): void {
    const worker = cluster.fork();
    const known = this.add(worker);
    let listened = false;
    // Node hands connections over by messages of its own: one to a worker that has just died must not end all others.
    worker.on('error', (error) => {
      this.#logger.warn({ err: error }, 'a worker could not be reached; if it has died, another is started');
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

  /** A start that fails before any worker ever listened fails for all, as it does without workers. */
  #giveUp(fault: StartFault | null, how: string): boolean {
    this.#failedStarts += 1;
    if ((fault === null || this.#everListened) && this.#failedStarts < MAX_FAILED_STARTS) return false;
    const lines = [
      `${this.#failedStarts} workers in a row ended at their start (${how}); the log may say why`,
    ];
    this.#fail(new WorkersFailed(fault ?? { lines, code: 1 }));
    return true;
  }

  /** Takes what a worker sends, until it ends. */
  add(worker: Worker): Known {
    const known: Known = { startFault: null, listening: false, health: null, numbers: [] };
    this.#known.set(worker, known);
    worker.on('message', (message: unknown) => {
      if (!Message.is(message)) return;
      known.startFault = message.startFault ?? known.startFault;
      known.listening ||= message.listening ?? false;
      known.health = healthIn(message)[0] ?? known.health;
      // Metrics that come too late are still newer than those known.
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
      // A worker that is about to end has closed its side.
      for (const worker of this.#known.keys()) if (worker.isConnected()) worker.send(all, () => {});
    }, BEAT_MS).unref();
  }

  /**
   * @returns the text of /metrics, of this process and of all workers. A worker that does not answer counts as it did
   *   last; what ended workers had counted stays, for a counter never goes back.
   */
  async metricsText(own: Registry): Promise<string> {
    const asked = [...this.#known].filter(([, { listening }]) => listening);
    await Promise.all(asked.map(([worker]) => this.#askMetrics(worker)));
    const ours = await own.getMetricsAsJSON();
    // All at one moment: a worker that ends meanwhile is counted once, here or there.
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
      // A worker that has just died is not waited for.
      worker.send({ ask } satisfies Message, (error) => error && done());
    });
  }

  /** Ends all workers. @param withinMs after which those that are left are given up */
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

/** Counters and histograms of both, added up; what a process held when it ended is gone with it. */
function addCounts(before: Numbers, more: Numbers): Numbers {
  const sums = AggregatorRegistry.aggregate([before, more]).getMetricsAsArray() as unknown as Numbers;
  return sums.filter(({ type }) => COUNTED.includes(String(type)));
}

const COUNTED: readonly string[] = ['counter', 'histogram'];
