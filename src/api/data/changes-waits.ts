/** Readers of the feed that wait for changes in this process. */
import type { ServerResponse } from 'node:http';
import { GatewayError } from '../../errors.js';
import { takes } from '../../reports/feed/feed.js';
import type { Offset } from '../../reports/feed/offset.js';
import type { FeedTail } from '../../reports/feed/tail.js';
import type { FollowedReader } from './changes-question.js';

export interface WaitsOptions {
  readonly tail: Pick<FeedTail, 'wait'>;
  /** True once the process is stopping. */
  readonly stopping: () => boolean;
  /** Grows with every change of teams and keys. */
  readonly version: () => number;
  readonly monotonicMs: () => number;
}

export interface Wait {
  readonly reader: FollowedReader;
  /** Of the last entry that it has read. */
  readonly position: string;
  /** By the monotonic clock. */
  readonly untilMs: number;
  /** Whether it may see what it could see when the wait began. @throws GatewayError if it may not ask any more */
  readonly isSame: () => boolean;
  readonly raw: ServerResponse;
}

/** news: there may be messages · over: the time is up · ended: its rights have changed, or the process stops · gone: nobody waits */
export type Woken = 'news' | 'over' | 'ended' | 'gone';

export interface Waited {
  readonly why: Woken;
  /** The place up to which nothing was for the reader; null: where it has read up to. */
  readonly from: Offset | null;
}

/** Of a team, in a process. */
const WAITING_MAX = 100;

export type Waits = ReturnType<typeof createWaits>;

export function createWaits({ tail, stopping, version, monotonicMs }: WaitsOptions) {
  const counts = new Map<string, number>();
  return {
    /**
     * Counts a reader of a team, from the begin of its wait to the end of its answer.
     * @returns ends it, called once or more
     * @throws GatewayError `rate_limited`
     */
    enter({ team }: FollowedReader): () => void {
      const count = counts.get(team) ?? 0;
      if (count >= WAITING_MAX)
        throw new GatewayError('rate_limited', {
          detail: `${WAITING_MAX} readers of the team wait for changes here; that is the limit.`,
          help: 'Follow the feed once for a team and pass its messages on, or ask without live.',
          retryAfterS: 5,
        });
      counts.set(team, count + 1);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        const left = (counts.get(team) ?? 1) - 1;
        if (left === 0) counts.delete(team);
        else counts.set(team, left);
      };
    },
    /** Waits for changes that the reader's filter takes. */
    wait({ reader, position, untilMs, isSame, raw }: Wait): Promise<Waited> {
      if (raw.destroyed) return Promise.resolve({ why: 'gone', from: null });
      const isAsBefore = watchAccess(version, isSame);
      return new Promise((resolve) => {
        const end = (why: Woken, from: Offset | null = null) => {
          leave();
          raw.off('close', onClosed);
          resolve({ why, from });
        };
        const onClosed = () => end('gone');
        raw.once('close', onClosed);
        let leave = () => {};
        leave = tail.wait({
          position,
          takes: (made) => takes(reader, made),
          wake: (from) => end('news', from),
          tick(from) {
            if (stopping() || !isAsBefore()) end('ended', from);
            else if (monotonicMs() >= untilMs) end('over', from);
          },
        });
      });
    },
  };
}

/** A key may expire without a change. */
const LOOK_EVERY_TICKS = 10;

/** @returns whether the access of a reader is as it was; looked at after a change of the registry, and from time to time */
function watchAccess(version: () => number, isSame: () => boolean): () => boolean {
  let [known, ticks] = [version(), 0];
  return () => {
    ticks += 1;
    if (version() === known && ticks % LOOK_EVERY_TICKS !== 0) return true;
    known = version();
    try {
      return isSame();
    } catch {
      // The reader gets the error when it goes on.
      return false;
    }
  };
}
