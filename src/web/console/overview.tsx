/** The overview: verdict, charts, teams. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Column, DataTable, numberColumn, timeColumn } from '../ui/data-table.js';
import { duration, moment, percent, span } from '../ui/format.js';
import { Card, Choice, Name, Tag, Together, type Tone, Wait } from '../ui/parts.js';
import { go, hrefOf, useRoute } from '../ui/route.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { OverviewCharts, OverviewFigures } from './overview-charts.js';
import { RANGES, type Range, type SeriesAnswer } from './series.js';

export type LedgerAnswer = AnswerTo<'GET /admin/v1/series/teams'>;
export type Status = AnswerTo<'GET /admin/v1/status'>;

const LIVE_MS = 10_000;

export function Overview() {
  const { query } = useRoute();
  const range = RANGES.find(({ value }) => value === query.get('range'))?.value ?? '1h';
  const status = useGet<Status>('/admin/v1/status', LIVE_MS);
  const series = useGet<SeriesAnswer>(`/admin/v1/series?range=${range}`, LIVE_MS);
  const ledger = useGet<LedgerAnswer>(`/admin/v1/series/teams?range=${range}`, LIVE_MS);
  const choose = (value: Range) => go(hrefOf(['overview'], { range: value }));
  return (
    <View
      title="Overview"
      lead="Current state of the gateway, refreshed every ten seconds."
      tools={<Choice label="Range" options={RANGES} value={range} choose={choose} />}
    >
      <Together of={[status, series, ledger]}>
        <Wait of={status}>{(value, since) => <VerdictCard status={value} staleSince={since} />}</Wait>
        <Wait of={series}>
          {(value) => (
            <>
              <OverviewFigures answer={value} />
              <OverviewCharts answer={value} />
            </>
          )}
        </Wait>
        <Wait of={ledger}>{(value) => <Ledger answer={value} />}</Wait>
      </Together>
    </View>
  );
}

const TONES: Readonly<Record<string, Tone>> = { well: 'good', starting: 'info', warning: 'warn' };
const WORDS: Readonly<Record<string, string>> = {
  well: 'All is well',
  starting: 'Starting',
  warning: 'Working, with warnings',
};

interface VerdictProps {
  readonly status: Status;
  /** When it was so, if it could not be asked for since. */
  readonly staleSince: Date | null;
}

function VerdictCard({ status, staleSince }: VerdictProps) {
  const { ready, version, uptimeSeconds, verdict, processes } = status;
  const isOld = staleSince !== null;
  const toneOf = (level: string): Tone => (isOld ? 'quiet' : (TONES[level] ?? 'bad'));
  const words = WORDS[verdict.level] ?? 'Needs action';
  return (
    <Card class={`verdict ${toneOf(verdict.level)}`}>
      <div class="card-head">
        <h2>{isOld ? `Unknown since ${moment(staleSince.toISOString())}` : words}</h2>
        <p class="small quiet">
          {isOld ? `Last known: “${words}”, ` : ''}
          {ready ? '' : <Tag tone={isOld ? 'quiet' : 'bad'}>not ready</Tag>} version {version}, up for{' '}
          {span(uptimeSeconds)}, {processes.length === 1 ? 'one process' : `${processes.length} processes`}
        </p>
      </div>
      {verdict.findings.length === 0 ? null : (
        <ul class="findings">
          {verdict.findings.map(({ level, says, do: what }) => (
            <li key={says}>
              <Tag tone={toneOf(level)}>{level}</Tag> {says}
              <p class="quiet">
                To do: <Remedy text={what} />
              </p>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** Pages that do what a command does. */
const PAGES: readonly (readonly [command: string, section: string, title: string])[] = [
  ['dsp-gateway token', 'credential', 'Credential'],
  ['dsp-gateway writes', 'writes', 'Writes'],
  ['dsp-gateway teams', 'teams', 'Teams'],
  ['dsp-gateway keys', 'teams', 'Teams'],
];

/** The remedy, with the page that does it, if there is one. */
function Remedy({ text }: { readonly text: string }) {
  const page = PAGES.find(([command]) => text.includes(command));
  if (page === undefined) return <>{text}</>;
  const [, section, title] = page;
  return (
    <>
      on the page <a href={hrefOf([section])}>{title}</a>, or at a terminal: {text}
    </>
  );
}

/** The gateway, which makes calls of its own, has no page. */
export function TeamLink({ id, name }: { readonly id: string; readonly name: string }) {
  if (id === 'gateway') return 'the gateway itself';
  return (
    <a href={hrefOf(['teams', id])}>
      <Name>{name}</Name>
    </a>
  );
}

/** Requests without a valid key have no team. */
type Row = Omit<LedgerAnswer['teams'][number], 'id'> & { readonly id: string | null };

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Team',
    by: ({ name }) => name,
    cell: ({ id, name }) => (id === null ? name : <TeamLink id={id} name={name} />),
  },
  numberColumn('Requests', ({ requests }) => requests),
  numberColumn('Hits', ({ hitRatio }) => hitRatio, percent),
  numberColumn('Calls', ({ platformCalls }) => platformCalls),
  numberColumn('Saved', ({ platformCallsSaved }) => platformCallsSaved),
  numberColumn('Errors', ({ errors }) => errors),
  numberColumn('Limited', ({ rateLimited }) => rateLimited),
  numberColumn('Median', ({ p50Ms }) => p50Ms, duration),
  numberColumn('p99', ({ p99Ms }) => p99Ms, duration),
  timeColumn('Last seen', ({ lastSeenAt }) => lastSeenAt, '–'),
];

const Ledger = ({ answer: { teams, withoutKey } }: { readonly answer: LedgerAnswer }) => (
  <Card title="Teams">
    <DataTable
      caption="Teams and their usage"
      columns={COLUMNS}
      rows={[
        ...teams,
        ...(withoutKey === null ? [] : [{ ...withoutKey, id: null, name: 'without a valid key' }]),
      ]}
      keyOf={({ id }) => id ?? ''}
      sorted={{ index: 1, down: true }}
      empty="No team made a request: choose a longer range above, or issue a key under Teams."
    />
  </Card>
);
