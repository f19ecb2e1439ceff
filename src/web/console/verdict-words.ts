/** The verdict in words: how it is, which part, since when, and what it costs. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';
import { costOf, isToldByFinding, sentence } from '../../lib/words.js';
import { moment, span } from '../ui/format.js';

export type Status = AnswerTo<'GET /admin/v1/status'>;
type Finding = Status['verdict']['findings'][number];
type Judged = Pick<Status, 'verdict' | 'reports' | 'replicas' | 'uptimeSeconds'>;

type Tone = 'good' | 'info' | 'warn' | 'bad';

const TONES: Readonly<Record<string, Tone>> = { well: 'good', starting: 'info', warning: 'warn' };

export const toneOfLevel = (level: string): Tone => TONES[level] ?? 'bad';

const PARTS: Readonly<Record<Finding['part'], string>> = {
  platform: 'the platform',
  store: 'the store',
  credential: 'the platform token',
  slots: 'slots for platform calls',
  writes: 'writes',
  secrets: 'a secret file',
  log: 'the log',
  clock: 'the clock',
  settings: 'the settings',
  'sign-in': 'sign-in with company accounts',
  gateway: 'the gateway',
};

/** In the word of the level, as `dsp-gateway status` says it. Failed reports change no level; they are told all the same. */
export function headlineOf(status: Judged): { words: string; tone: Tone } {
  const { level, findings, recovered } = status.verdict;
  const tone = toneOfLevel(level);
  if (level === 'starting') return { words: 'Starting', tone };
  if (level !== 'well') {
    const word = sentence(level).slice(0, -1);
    const parts = new Set(findings.filter((one) => one.level === level).map(({ part }) => PARTS[part]));
    return { words: `${word}: ${[...parts].join(', ')}`, tone };
  }
  if (recovered !== undefined) return { words: 'Well again', tone };
  if (status.reports.recentFailed === 0) return { words: 'All is well', tone };
  return { words: `Well; ${costOf(status)}`, tone: 'info' };
}

/** `Not well for 12 min, since 2026-11-29 01:20 UTC.`; empty: not known, or told by its only finding */
export function wholeOf({ level, since, findings }: Status['verdict'], nowMs: number): string {
  if (isToldByFinding(findings)) return '';
  const lasts = lastsOf({ since, says: '' }, nowMs);
  return lasts === '' ? '' : sentence(`${level} ${lasts}`);
}

/** `for 12 min, since 2026-11-29 01:20 UTC`; empty: not known, or told by the finding itself */
export function lastsOf(
  { since, says }: { since?: string | undefined; says: string },
  nowMs: number,
): string {
  if (since === undefined || says.includes(' since ')) return '';
  return `for ${span(Math.max(0, (nowMs - Date.parse(since)) / 1000))}, since ${moment(since)}`;
}

interface Page {
  readonly section: string;
  readonly title: string;
}

/** Pages that do what a command does. */
const PAGES: readonly (readonly [command: string, page: Page])[] = [
  ['dsp-gateway token', { section: 'credential', title: 'Credential' }],
  ['dsp-gateway writes', { section: 'writes', title: 'Writes' }],
  ['dsp-gateway teams', { section: 'teams', title: 'Teams' }],
  ['dsp-gateway keys', { section: 'teams', title: 'Teams' }],
];

/** The page that does what a finding advises; null: there is none. */
export const pageOf = (advice: string): Page | null =>
  PAGES.find(([command]) => advice.includes(command))?.[1] ?? null;
