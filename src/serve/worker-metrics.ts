/** The numbers of all processes as one: those of the workers, asked for over the cluster's channel, and our own. */
import type { Worker } from 'node:cluster';
import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from 'prom-client';

type Numbers = MetricObjectWithValues<MetricValue<string>>[];

/** A worker that is stuck must not keep the others' numbers from being scraped. */
const WAIT_MS = 2000;

interface Question {
  readonly ask: 'metrics';
  readonly id: number;
}

interface Answer {
  readonly answer: 'metrics';
  readonly id: number;
  readonly numbers: Numbers;
}

/** In a worker: tells its supervisor that it listens, and answers its questions. */
export function answerSupervisor(registry: Registry): void {
  process.on('message', (message: Partial<Question> | null) => {
    if (message?.ask !== 'metrics' || message.id === undefined) return;
    const { id } = message;
    void registry.getMetricsAsJSON().then((numbers) => {
      if (process.connected) process.send?.({ answer: 'metrics', id, numbers } satisfies Answer);
    });
  });
  process.send?.({ listening: true });
}

export interface Workers {
  /** Whether any of them listens. */
  ready(): boolean;
  add(worker: Worker): void;
  /** @returns the text of /metrics, of the workers that listen and of this process */
  metricsText(own: Registry): Promise<string>;
}

/** In the supervisor. */
export function followWorkers(): Workers {
  const listening = new Set<Worker>();
  const waiting = new Map<number, (numbers: Numbers) => void>();
  let lastId = 0;

  function askOne(worker: Worker): Promise<Numbers> {
    lastId += 1;
    const id = lastId;
    return new Promise((resolve) => {
      const done = (numbers: Numbers) => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(numbers);
      };
      const timer = setTimeout(() => done([]), WAIT_MS);
      waiting.set(id, done);
      // One that has just died is left out, like one that does not answer.
      worker.send({ ask: 'metrics', id } satisfies Question, (error) => error && done([]));
    });
  }

  return {
    ready: () => listening.size > 0,
    add(worker) {
      worker.once('exit', () => listening.delete(worker));
      worker.on('message', (message: Partial<Answer> & { readonly listening?: boolean }) => {
        if (message.listening) listening.add(worker);
        if (message.answer === 'metrics') waiting.get(message.id as number)?.(message.numbers as Numbers);
      });
    },
    async metricsText(own) {
      const all = await Promise.all([...[...listening].map(askOne), own.getMetricsAsJSON()]);
      return AggregatorRegistry.aggregate(all).metrics();
    },
  };
}
