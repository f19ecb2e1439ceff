/** What decides when the platform is called: slots, places, pace, circuit and pause, wired. Composed once, by services. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { Config } from '../config/load.js';
import { type Budget, createBudget } from './budget.js';
import { type Circuit, createCircuit } from './circuit.js';
import { createPace, type Pace } from './pace.js';
import { createPause, type Pause } from './pause.js';
import { createRecentCalls, type RecentCalls } from './recent-calls.js';
import { createStreamPlaces, type StreamPlaces } from './stream-places.js';

export interface Traffic {
  readonly budget: Budget;
  /** Places of calls whose answers are streamed. */
  readonly streamPlaces: StreamPlaces;
  readonly pause: Pause;
  readonly pace: Pace;
  readonly circuit: Circuit;
  /** Platform calls that this process may make at once, as of now. */
  readonly maxConcurrent: () => number;
  /** Nothing waits, half of the places are free, and the platform may be called now: time for what nobody waits for. */
  readonly isIdle: () => boolean;
  readonly recentCalls: RecentCalls;
}

export interface TrafficOptions {
  readonly settings: Config['platform'];
  readonly replicas: {
    readonly count: number;
    /** This process' part of what all may do together. */
    share(of: number): number;
  };
  readonly bus: {
    publish(channel: string, message: string): Promise<void>;
    subscribe(channel: string, listener: (message: string) => void): unknown;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createTraffic({ settings, replicas, bus, clock, logger }: TrafficOptions): Traffic {
  const { maxQueued, circuit: breaks } = settings;
  const maxPauseMs = settings.maxPauseSeconds * 1000;
  // Half of a call's time: whatever rate the platform shows, a call that waits for it is made in time.
  const maxPaceMs = Math.min(maxPauseMs, settings.timeoutMs / 2);
  const pace = createPace(clock, () => replicas.count, maxPaceMs);
  const maxConcurrent = () => replicas.share(settings.maxConcurrent);
  const pause = createPause(clock, maxPauseMs, (message) => {
    // A replica that does not hear of it is told by the platform itself.
    bus.publish('pause', message).catch((error: unknown) => {
      logger.debug({ err: error }, 'the other replicas could not be told of a pause');
    });
  });
  bus.subscribe('pause', pause.hear);
  const budget = createBudget({ maxConcurrent, maxQueued, paceMs: pace.waitMs });
  const circuit = createCircuit({ failures: breaks.failures, openMs: breaks.openSeconds * 1000, clock });
  return {
    budget,
    streamPlaces: createStreamPlaces({ maxConcurrent, maxQueued }),
    pause,
    pace,
    circuit,
    maxConcurrent,
    recentCalls: createRecentCalls(clock.now),
    isIdle: () =>
      budget.queued === 0 &&
      2 * budget.running < maxConcurrent() &&
      !circuit.isOpen &&
      pause.leftMs() === 0 &&
      pace.waitMs() <= 0,
  };
}
