/** Requests that were answered with a problem: found by id, or listed. */
import type { AnswerTo } from '../../api/operations/table.js';
import { periodOf, repeatOf, reportOf, secondOf } from '../../lib/words.js';
import { type Column, DataTable } from '../ui/data-table.js';
import type { FieldSpec, Values } from '../ui/form-values.js';
import { counted } from '../ui/format.js';
import { Card, Facts, Wait } from '../ui/parts.js';
import { go, hrefOf, useRoute } from '../ui/route.js';
import { SchemaForm } from '../ui/schema-form.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { TeamLink } from './team-link.js';

type Listed = AnswerTo<'GET /admin/v1/requests'>;
type Request = Listed['requests'][number];

const FIELDS: readonly FieldSpec[] = [
  { name: 'id', label: 'Request id', is: 'search', placeholder: 'requestId of a problem' },
  { name: 'team', label: 'Team' },
  {
    name: 'outcome',
    label: 'Which',
    options: [
      ['failed', 'failed reports'],
      ['', 'also refused requests'],
    ],
  },
  {
    name: 'part',
    label: 'Failed by',
    options: [
      ['', 'any part'],
      ['platform', 'the platform'],
      ['token', 'the token'],
    ],
  },
  { name: 'since', label: 'Since', placeholder: '2026-11-29T14:00Z' },
  { name: 'until', label: 'Until', placeholder: '2026-11-29T15:00Z' },
];

const LIVE_MS = 10_000;

/** Refused requests are asked for by `which=all`, as an address has no empty member. */
export function Requests() {
  const { query } = useRoute();
  const of = (name: string) => query.get(name) ?? '';
  const outcome = of('which') === 'all' ? '' : 'failed';
  const filter = { team: of('team'), outcome, part: of('part'), since: of('since'), until: of('until') };
  const apply = async ({ outcome: which, ...rest }: Values) =>
    go(
      hrefOf(['requests'], {
        ...(rest as Readonly<Record<string, string>>),
        which: which === '' ? 'all' : '',
      }),
    );
  const start = { ...filter, id: of('id') };
  return (
    <View
      title="Requests"
      lead="Requests of teams that were answered with a problem, newest first. Each process keeps its last 2,000 in memory; older ones are in the log."
    >
      <Card>
        <SchemaForm
          key={JSON.stringify(start)}
          label="Find requests"
          fields={FIELDS}
          start={start}
          submit="Find"
          send={apply}
        />
      </Card>
      {of('id') === '' ? <List filter={filter} /> : <One key={of('id')} id={of('id')} />}
    </View>
  );
}

const problemOf = ({ title, code, status, cause }: Request): string =>
  `${title ?? code ?? status}${cause === undefined ? '' : ` (${cause})`}`;

const teamOf = ({ team }: Request) =>
  team === null ? 'without a valid key' : <TeamLink id={team} name={team} />;

interface TwoProps {
  readonly title?: string;
  readonly first: string;
  readonly second: string;
}

const Two = ({ title, first, second }: TwoProps) => (
  <span title={title}>
    {first}
    <br />
    <span class="small quiet nowrap">{second}</span>
  </span>
);

const COLUMNS: readonly Column<Request>[] = [
  {
    title: 'Time (UTC)',
    by: ({ at }) => at,
    cell: ({ at }) => <Two title={at} first={at.slice(11, 19)} second={at.slice(0, 10)} />,
  },
  { title: 'Team', by: ({ team }) => team, cell: teamOf },
  { title: 'Problem', by: problemOf, cell: problemOf },
  {
    title: 'Report and period',
    by: reportOf,
    cell: (one) => <Two first={reportOf(one)} second={periodOf(one) ?? '–'} />,
  },
  {
    title: 'Advertiser',
    by: ({ report }) => report?.advertiserId ?? null,
    cell: ({ report }) => report?.advertiserId ?? '–',
  },
  { title: 'Request id', cell: ({ requestId }) => <RequestLink id={requestId} /> },
];

/** The beginning of a request id, which leads to the request. */
export const RequestLink = ({ id }: { readonly id: string }) => (
  <a href={hrefOf(['requests'], { id })} title={id} class="nowrap">
    <code>{id.length > 12 ? `${id.slice(0, 8)}…` : id}</code>
  </a>
);

function List({ filter }: { readonly filter: Readonly<Record<string, string>> }) {
  const given = Object.entries(filter).filter(([, value]) => value !== '');
  const found = useGet<Listed>(`/admin/v1/requests?${new URLSearchParams(given)}`, LIVE_MS);
  return (
    <Card title={filter.outcome === 'failed' ? 'Failed reports' : 'Failed and refused requests'}>
      <Wait of={found}>
        {({ requests, more, searched, processes }) => (
          <>
            <DataTable
              caption="Requests with problem, report and request id"
              columns={COLUMNS}
              rows={requests}
              keyOf={({ requestId }) => requestId}
              empty="No such requests. Choose a longer time, or include refused requests."
            />
            {more === 0 ? null : <p class="quiet">And {counted(more, 'older one')}: narrow the search.</p>}
            {searched === processes ? null : (
              <p class="quiet">
                {searched} of {processes} processes answered in time.
              </p>
            )}
          </>
        )}
      </Wait>
    </Card>
  );
}

function One({ id }: { readonly id: string }) {
  const found = useGet<Request>(`/admin/v1/requests/${encodeURIComponent(id)}`);
  return (
    <Card title="The request">
      <Wait of={found}>
        {(one) => (
          <Facts
            of={[
              ['Request id', <code>{one.requestId}</code>],
              ['Time', secondOf(Date.parse(one.at))],
              ['Team', teamOf(one)],
              ['Key', one.key ?? '–'],
              ['Request', `${one.method} ${one.path}`],
              ['Report', one.report === undefined ? '–' : reportOf(one)],
              ['Advertiser', one.report?.advertiserId ?? '–'],
              ['Period', periodOf(one) ?? '–'],
              ...(repeatOf(one) === null ? [] : [['To repeat', <code>{repeatOf(one)}</code>] as const]),
              ['Problem', `${one.status}: ${problemOf(one)}`],
              ['Platform', counted(one.platformCalls, 'call')],
              ['Took', `${one.ms} ms`],
            ]}
          />
        )}
      </Wait>
      <p>
        <a href={hrefOf(['requests'])}>All failed reports</a>
      </p>
    </Card>
  );
}
