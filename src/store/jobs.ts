/**
 * Background jobs. Every process runs some for itself; one elected process runs the others for all replicas.
 * A led job must be safe to run twice: a leader that was suspended may resume beside its successor.
 */
import type { Logger } from 'pino';
import { randomId } from '../lib/chance.js';
import { type Repeated, repeat } from '../lib/repeat.js';
import { uptimeMs } from '../lib/time.js';
import type { Leases } from './port.js';

/** Called at intervals, never concurrently in a process. Ends early if `isStopped`. */
export type Job = (isStopped: () => boolean) => Promise<void>;

interface JobsOptions {
  /** Run by every process; by name for the log. */
  readonly everywhere: Readonly<Record<string, Job>>;
  /** Run by the elected process alone. */
  readonly led: Readonly<Record<string, Job>>;
  readonly leases: Leases;
  readonly logger: Logger;
  readonly everyMs?: number;
}

/** Held by the process that runs the led jobs. */
export const LEADER_LEASE = 'lease:{gateway}:leader';
/** Together they bound how long a killed leader blocks others: 10 s. */
const HOLD_MS = 7000;
const ELECT_EVERY_MS = 3000;

export function startJobs(options: JobsOptions): Pick<Repeated, 'stop'> {
  const { everywhere, led, leases, logger, everyMs = 1000 } = options;
  const owner = randomId();
  let leadsUntilMs = Number.NEGATIVE_INFINITY;

  const election = repeat(Math.min(ELECT_EVERY_MS, everyMs * 3), async () => {
    const sinceMs = uptimeMs();
    try {
      const [mine] = await leases.claim([LEADER_LEASE], owner, HOLD_MS);
      leadsUntilMs = mine === true ? sinceMs + HOLD_MS : Number.NEGATIVE_INFINITY;
    } catch (error) {
      // The leader keeps its jobs for as long as the lease was granted.
      logger.debug({ err: error }, 'the store did not answer to the election of a leader');
    }
  });

  function loop(name: string, job: Job, isOurs: () => boolean): Repeated {
    let isFailing = false;
    return repeat(everyMs, async (isStopped) => {
      if (!isOurs()) return;
      try {
        await job(() => isStopped() || !isOurs());
        isFailing = false;
      } catch (error) {
        // A fault is logged once until the job succeeds again.
        if (!isFailing && !isStopped()) logger.error({ err: error, job: name }, 'a background job failed');
        isFailing = true;
      }
    });
  }

  const loops = [
    ...Object.entries(everywhere).map(([name, job]) => loop(name, job, () => true)),
    ...Object.entries(led).map(([name, job]) => loop(name, job, () => uptimeMs() < leadsUntilMs)),
  ];
  election.now();
  return {
    async stop() {
      await Promise.all([election, ...loops].map((one) => one.stop()));
      if (uptimeMs() < leadsUntilMs) await leases.release([LEADER_LEASE], owner).catch(() => {});
    },
  };
}

const HOUR_MS = 3_600_000;

/** @param atOnce whether it is due at the first call */
export function hourly(job: Job, atOnce: boolean): Job {
  let dueAtMs = uptimeMs() + (atOnce ? 0 : HOUR_MS);
  return async (isStopped) => {
    if (uptimeMs() < dueAtMs) return;
    dueAtMs = uptimeMs() + HOUR_MS;
    await job(isStopped);
  };
}

const SOON_MS = 60_000;

/**
 * Hourly, due at the first call; at once where it begins to be urgent, and each minute while it is, or until it is done.
 * @param job returns whether it is done
 */
export function hourlyOrUrgent(
  job: (isStopped: () => boolean) => Promise<boolean>,
  isUrgent: () => boolean,
): Job {
  let [dueAtMs, urgentFromMs] = [uptimeMs(), Number.NEGATIVE_INFINITY];
  return async (isStopped) => {
    const [now, isInTurn] = [uptimeMs(), uptimeMs() >= dueAtMs];
    if (!isInTurn && !(isUrgent() && now >= urgentFromMs)) return;
    urgentFromMs = now + SOON_MS;
    if (isInTurn) dueAtMs = now + HOUR_MS;
    if (!(await job(isStopped))) dueAtMs = Math.min(dueAtMs, uptimeMs() + SOON_MS);
  };
}
