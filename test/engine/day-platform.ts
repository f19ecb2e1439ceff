/**
 * A platform of the tests' own whose answers tell which call they came from, and can be held back: what it says is
 * decided when it is asked, and sent when the test lets it.
 */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { startRawPlatform } from '../support/raw-platform.js';
import { waitFor } from '../support/wait-for.js';
import { shiftDay } from './world.js';

export interface DayCall {
  readonly advertiserId: string;
  readonly from: string;
  readonly to: string;
  readonly days: readonly string[];
  readonly body: string;
  answered: boolean;
  answer(): void;
}

export interface DayPlatform {
  readonly url: string;
  readonly token: string;
  readonly calls: readonly DayCall[];
  /** The value of `impressions` in every row from now on. */
  revision: number;
  /** Calls are answered with 503 from now on. */
  fail?: boolean;
  /** Holds calls back from now on; those for which it is false are answered at once. */
  hold(which: (call: DayCall) => boolean): void;
  readonly held: readonly DayCall[];
  /** Resolves when so many calls have come, and everything else that was under way has come to rest. */
  arrived(count: number): Promise<void>;
  /** Answers what is held, and from now on at once. */
  release(): void;
}

/** Ended with the test. */
export async function startDayPlatform(): Promise<DayPlatform> {
  const calls: DayCall[] = [];
  let isHeld: (call: DayCall) => boolean = () => false;
  const raw = await startRawPlatform((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const { searchParams } = new URL(request.url ?? '', 'http://platform');
      const asked = body === '' ? Object.fromEntries(searchParams) : JSON.parse(body);
      const text = JSON.stringify({ data: rowsOf(asked, platform.revision) });
      const call: DayCall = {
        advertiserId: String(asked.advertiserId),
        from: String(asked.dateFrom),
        to: String(asked.dateTo),
        days: daysOf(asked),
        body,
        answered: false,
        answer() {
          call.answered = true;
          response
            .writeHead(platform.fail === true ? 503 : 200, { 'content-type': 'application/json' })
            .end(text);
        },
      };
      calls.push(call);
      if (!isHeld(call)) call.answer();
    });
  });
  const platform: DayPlatform = {
    url: raw.url,
    token: raw.token,
    calls,
    revision: 1,
    hold(which) {
      isHeld = which;
    },
    get held() {
      return calls.filter(({ answered }) => !answered);
    },
    async arrived(count) {
      await waitFor(`${count} calls`, () => calls.length >= count);
      for (let turn = 0; turn < 50; turn++) await turnOfTheLoop();
    },
    release() {
      isHeld = () => false;
      for (const call of platform.held) call.answer();
    },
  };
  // A gateway that is closed waits for what it has under way.
  onTestFinished(() => platform.release());
  return platform;
}

interface Asked {
  readonly advertiserId?: unknown;
  readonly dateFrom?: unknown;
  readonly dateTo?: unknown;
}

function daysOf({ dateFrom, dateTo }: Asked): string[] {
  const days: string[] = [];
  for (let day = String(dateFrom); day <= String(dateTo); day = shiftDay(day, 1)) days.push(day);
  return days;
}

function rowsOf(asked: Asked, revision: number): object[] {
  return daysOf(asked).map((date) => ({
    date,
    campaign_id: 101,
    advertiser_id: Number(asked.advertiserId),
    impressions: revision,
  }));
}
