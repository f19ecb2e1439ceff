/**
 * What the processes of one gateway tell each other of their health, over the cluster's channel: it needs no store, so
 * it goes on when that is lost, and the supervisor, which serves no requests itself, is heard as well.
 */
import type { Worker } from 'node:cluster';
import Type from 'typebox';
import { recordForm } from '../lib/record.js';
import { startTicks } from '../lib/time.js';
import { asProcessHealth, type Health, type ProcessHealth } from '../telemetry/health.js';

const BEAT_MS = 1000;

const Told = recordForm(Type.Object({ health: Type.Array(Type.Unknown()) }));

interface HealthMessage {
  readonly health: readonly ProcessHealth[];
}

/** @returns null for a message about something else */
function toldIn(message: unknown): readonly ProcessHealth[] | null {
  return Told.is(message) ? message.health.flatMap((one) => asProcessHealth(one) ?? []) : null;
}

/** In a worker: tells its supervisor of itself, and hears from it of all others. */
export function shareHealth(health: Health): void {
  let others: readonly ProcessHealth[] = [];
  process.on('message', (message: unknown) => {
    others = toldIn(message) ?? others;
  });
  health.hear(() => others);
  const tell = () => {
    if (process.connected) process.send?.({ health: [health.own()] } satisfies HealthMessage);
  };
  tell();
  startTicks(tell, BEAT_MS).unref();
}

/** In the supervisor. A worker that is silent is still told of as it last was; one that has ended is not. */
export function followHealth() {
  const known = new Map<Worker, ProcessHealth>();
  const workers = new Set<Worker>();
  return {
    add(worker: Worker) {
      workers.add(worker);
      worker.on('message', (message: unknown) => {
        const [one] = toldIn(message) ?? [];
        if (one !== undefined) known.set(worker, one);
      });
      worker.once('exit', () => {
        workers.delete(worker);
        known.delete(worker);
      });
    },
    /** From then on the health tells of the workers, and the workers hear of it and of each other. */
    join(health: Health) {
      health.hear(() => [...known.values()]);
      startTicks(() => {
        const all: HealthMessage = { health: [health.own(), ...known.values()] };
        // One that is about to end has closed its side.
        for (const worker of workers) if (worker.isConnected()) worker.send(all, () => {});
      }, BEAT_MS).unref();
    },
  };
}
