/** Composition of everything for reports, once per process: what the API, the jobs and the stop of the process use. */

import type { NamedReport } from '../api/data/ask.js';
import { explain } from '../api/data/explain.js';
import { previewPurge } from '../api/data/preview-purge.js';
import { createAnswerQuery } from '../reports/cache/answer.js';
import { createAnswerMemory } from '../reports/cache/finished.js';
import type { PurgeScope } from '../reports/cache/purges.js';
import { createReply } from '../reports/cache/reply.js';
import { createFeed } from '../reports/feed/feed.js';
import { createTellKinds } from '../reports/feed/tell-kinds.js';
import type { Gateway } from '../reports/gateway.js';
import { type createPins, isGone, type TeamLives } from '../reports/history/pins.js';
import type { Report } from '../reports/query/canonicalize.js';
import type { Format } from '../reports/query/output-options.js';
import { createQueries, type Stamps } from '../reports/query.js';
import { createReports } from '../reports/reports.js';
import { createReadWatches } from '../reports/watches/read-watches.js';
import { createWatches } from '../reports/watches/watches.js';
import { hourly, hourlyOrUrgent, type Job } from '../store/jobs.js';
import { whenAway } from '../store/port.js';
import { composeGateway, type ReportingOptions } from './compose-gateway.js';

export function composeReports(options: ReportingOptions) {
  const { g, prover, pins, observed, settled, close } = composeGateway(options);
  const { lives } = options;
  const { parse, now, learner, evidence, retention, background } = g;
  const memory = createAnswerMemory({
    l1: options.l1,
    purges: g.purges,
    background,
    onCheckDue: g.watch.weekly.used,
  });
  function stampsOf(report: Report): Stamps {
    const [endedMs, edgeDays] = [retention.endedMs(report.endpoint), retention.edgeDays(report.endpoint)];
    const [kind, window] = [learner.stampOf(report), evidence.stampOf(report)];
    return [kind, window, g.caps.stampOf(report), endedMs, edgeDays];
  }
  // Answers that were cached before the start are judged by the retention.
  background(retention.edges());
  // A store that is away is looked at again in an hour, or by the next fetch.
  const compareClocks = () => g.days.compareClocks().catch(whenAway(() => {}));
  background(compareClocks());
  const { registry, store, erasures, logger } = options;
  const { changes, bus, documents } = store;
  const watches = createWatches(g, { registry, documents, teams: lives });
  const reports = createReports(g, { pins, lives, prover, watches });
  const feed = createFeed({ changes, bus, documents, days: g.days, erasures, logger });
  return {
    /** For calls about reports and learned facts. */
    reports,
    /** Which days changed. */
    feed,
    admit: g.admit,
    queries: createQueries({ parse, stampsOf, now }),
    memory,
    answerQuery: createAnswerQuery(g, memory),
    reply: createReply(now, background),
    canonical: g.canonical,
    explain: (endpoint: string, query: string, format?: Format) => explain(reports, endpoint, query, format),
    previewPurge: (scope: PurgeScope, named: NamedReport | null) => previewPurge(reports, scope, named),
    /** Converts a JSON answer to a paged table. */
    table: g.workerPool.table,
    /** Whether a report recently came as one page of several. */
    isPaged: g.shapes.isPaged,
    acceptEmpty: g.history.acceptEmpty,
    eraseHistory: (advertiserId: string, audit: string) => eraseHistory(g, pins, advertiserId, audit),
    /** Retention of the platform by endpoint. Never rejects. */
    retentionEdges: retention.edges,
    /** Jobs of each process. */
    everywhere: { 'look at the clock of the store': hourly(compareClocks, false) },
    /** What limited teams send that would be refused; null: it is refused. Never rejects. */
    observedUndeclared: async () => (observed === null ? null : await observed.list()),
    /** Jobs of the leader. */
    led: {
      'sweep of the history': g.history.sweep,
      'reads of watches': createReadWatches(g, { watches, prover }),
      'sweep of pins': hourly(() => sweepPins(g, pins, lives), false),
      'feed of changes': tendFeed(options),
      'telling of months anew': createTellKinds({ ...g, documents }),
      'rewriting of old pins': hourly(pins.adopt, true),
      'removal of old history and cache entries': removingOldLayout(options),
    },
    /** Requests waiting for calls of others. */
    waiting: () => g.locks.waiting + g.attempts.waiting,
    settled,
    /** For a process that stops: starts no further comparison by platform calls. */
    stopComparing(): void {
      for (const part of [prover, g.watch.weekly]) part.stop();
    },

    async close(): Promise<void> {
      feed.tail.stop();
      for (const part of [prover, g.watch.weekly, g.locks, g.replacements]) part.stop();
      await close();
    },
  };
}

/** At most: an entry of one change. */
const BYTES_A_CHANGE = 100;

/** Publishes what writers that died have left, and keeps the limit of the feed, which is a part of history. */
function tendFeed({ store: { changes }, config }: ReportingOptions): Job {
  const fitting = Math.floor(config.history.maxBytes / BYTES_A_CHANGE);
  const mostChanges = Math.min(config.changes.maxEntries, fitting);
  const publish = (everything: boolean, isStopped: () => boolean) =>
    changes.publish(everything, isStopped).then(
      () => true,
      whenAway(() => false),
    );
  const publishAll = hourlyOrUrgent(
    (isStopped) => publish(true, isStopped),
    () => false,
  );
  return async (isStopped) => {
    await publishAll(isStopped);
    await publish(false, isStopped);
    await changes.trim(mostChanges).catch(whenAway(() => {}));
  };
}

/** At the start; what fails is repeated after an hour. */
function removingOldLayout({ store, logger }: ReportingOptions): Job {
  let isDone = false;
  return hourly(async (isStopped) => {
    if (isDone) return;
    const { months, cacheEntries } = await store.removeOldLayout(isStopped);
    isDone = !isStopped();
    if (months + cacheEntries > 0)
      logger.info({ months, cacheEntries }, 'removed history and cache entries of an earlier release');
  }, true);
}

type Pins = ReturnType<typeof createPins>;

async function sweepPins({ advertisers, logger }: Gateway, pins: Pins, lives: TeamLives): Promise<void> {
  try {
    await pins.sweep((owner) => isGone(owner, lives));
    await pins.removeErased();
    await advertisers.removeGone();
  } catch (error) {
    logger.warn(
      { err: error },
      'could not remove pins of deleted teams, or erased pins and advertiser names; retrying in an hour',
    );
  }
}

/** Erases the history of an account, including pins; see `erase` of the history. */
async function eraseHistory(
  { history, advertisers, logger }: Gateway,
  pins: Pins,
  advertiserId: string,
  audit: string,
): Promise<number | null> {
  const days = await history.erase(advertiserId, audit);
  try {
    await pins.removeErased();
    await advertisers.removeGone();
    return days;
  } catch (error) {
    logger.warn({ err: error }, 'could not remove erased pins and advertiser names; retrying in an hour');
    return null;
  }
}
