/** The numbers of all processes as one: those of the workers, asked for over the cluster's channel, and our own. */
import type { Worker } from 'node:cluster';
import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from 'prom-client';
import Type from 'typebox';
import { type Frozen, type RecordOf, recordForm } from '../lib/record.js';
import { startTimer, stopTimer } from '../lib/time.js';

type Numbers = Frozen<MetricObjectWithValues<MetricValue<string>>[]>;

/** A worker that is stuck must not keep the others' numbers from being scraped. */
const WAIT_MS = 2000;

const Question = recordForm(Type.Object({ ask: Type.Literal('metrics'), id: Type.Number() }));
type Question = RecordOf<typeof Question>;

/** What the numbers are is between two copies of one library. */
const Answer = recordForm(
  Type.Object({
    answer: Type.Literal('metrics'),
    id: Type.Number(),
    numbers: Type.Unsafe<Numbers>(Type.Array(Type.Object({}))),
  }),
);
type Answer = RecordOf<typeof Answer>;

const Listening = recordForm(Type.Object({ listening: Type.Literal(true) }));

/** In a worker: tells its supervisor that it listens, and answers its questions. */
export function answerSupervisor(registry: Registry): void {
  process.on('message', (message: unknown) => {
    if (!Question.is(message)) return;
    const { id } = message;
    void registry.getMetricsAsJSON().then((numbers) => {
      if (process.connected) process.send?.({ answer: 'metrics', id, numbers } satisfies Answer);
    });
  });
  process.send?.({ listening: true });
}

/** In the supervisor. */
export function followWorkers() {
  const listening = new Set<Worker>();
  const waiting = new Map<number, () => void>();
  const latest = new Map<Worker, Numbers>();
  let ofThoseThatEnded: Numbers = [];
  let lastId = 0;

  function askOne(worker: Worker): Promise<void> {
    lastId += 1;
    const id = lastId;
    return new Promise((resolve) => {
      const done = () => {
        stopTimer(timer);
        waiting.delete(id);
        resolve();
      };
      const timer = startTimer(done, WAIT_MS);
      waiting.set(id, done);
      // One that has just died is not waited for.
      worker.send({ ask: 'metrics', id } satisfies Question, (error) => error && done());
    });
  }

  return {
    /** Whether any of them listens. */
    ready: () => listening.size > 0,
    add(worker: Worker) {
      worker.once('exit', () => {
        listening.delete(worker);
        ofThoseThatEnded = addCounts(ofThoseThatEnded, latest.get(worker) ?? []);
        latest.delete(worker);
      });
      worker.on('message', (message: unknown) => {
        if (Listening.is(message)) listening.add(worker);
        if (!Answer.is(message)) return;
        // One that comes too late is newer than what there was.
        latest.set(worker, message.numbers);
        waiting.get(message.id)?.();
      });
    },
    /**
     * @returns the text of /metrics, of this process and of all workers: of one that does not answer what it said last,
     *   of those that ended what they had counted, for a counter never goes back
     */
    async metricsText(own: Registry): Promise<string> {
      await Promise.all([...listening].map(askOne));
      const ours = await own.getMetricsAsJSON();
      // All at one moment: one that ends meanwhile is counted once, here or there.
      return AggregatorRegistry.aggregate([ofThoseThatEnded, ...latest.values(), ours]).metrics();
    },
  };
}

/** Counters and histograms of both, added up; what a process held when it ended is gone with it. */
function addCounts(before: Numbers, more: Numbers): Numbers {
  const sums = AggregatorRegistry.aggregate([before, more]).getMetricsAsArray() as unknown as Numbers;
  return sums.filter(({ type }) => COUNTED.includes(String(type)));
}

const COUNTED: readonly string[] = ['counter', 'histogram'];
