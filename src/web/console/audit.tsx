/** Changes by day and by actor, a search, and entries as sentences with details. */
import { useEffect, useState } from 'preact/hooks';
import {
  type AuditEntry,
  actorOf,
  changedIn,
  foldSignIns,
  type NameOf,
  sentenceOf,
} from '../../api/operations/audit-sentence.js';
import type { AnswerTo } from '../../api/operations/table.js';
import { changesOf, failureOf, secondOf } from '../../lib/words.js';
import { Chart } from '../ui/chart.js';
import type { FieldSpec, Values } from '../ui/form-values.js';
import { counted, fromNow, lastDays, moment } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { useNotices } from '../ui/notices.js';
import { Bars, Button, Card, Empty, Name, Tag, Wait } from '../ui/parts.js';
import { go, hrefOf, useRoute } from '../ui/route.js';
import { SchemaForm } from '../ui/schema-form.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { sortedBy } from '../ui/sort.js';
import { useAdmin } from './admin.js';
import { useNames } from './names.js';

const PAGE = 50;

const FILTER: readonly FieldSpec[] = [
  { name: 'search', label: 'Text', is: 'search', placeholder: 'a name, an id, an address …' },
  {
    name: 'action',
    label: 'About',
    options: [
      ['', 'everything'],
      ['team', 'teams'],
      ['key', 'keys'],
      ['token', 'the token'],
      ['cache', 'the cache'],
      ['history', 'the history'],
      ['writes', 'writes'],
      ['registry', 'backups'],
      ['session', 'sign-ins'],
    ],
  },
  { name: 'team', label: 'Team' },
  { name: 'actor', label: 'Actor' },
  { name: 'since', label: 'Since', is: 'date' },
];

type FilterValues = Readonly<Record<string, string>>;

type Page = AnswerTo<'GET /admin/v1/audit'>;

export function Audit() {
  const { query } = useRoute();
  const filter = Object.fromEntries(FILTER.map(({ name }) => [name, query.get(name) ?? '']));
  return (
    <View
      title="Audit"
      lead="Who changed what, when and from which address, newest first: the last 100,000 changes, without secrets."
    >
      <Lately filter={filter} />
      <Card>
        <Filter key={`${filter.actor} ${filter.actor === 'person' ? filter.search : ''}`} filter={filter} />
        <Entries key={JSON.stringify(filter)} filter={filter} />
      </Card>
    </View>
  );
}

/** Maximum entries in the charts. */
const COUNTED = 1000;
/** Of the actors with most changes. */
const COLORS = ['--c1', '--c3', '--c2', '--c5', '--c4'];

/** The search for what an actor did; of a person by `sub`, as names may be the same. */
const keyOf = ({ actor, sub = '' }: AuditEntry) => hrefOf(['audit'], { search: sub, actor });

/** The last 30 days as charts. @param filter of the search */
function Lately({ filter }: { readonly filter: FilterValues }) {
  const days = lastDays(30);
  const found = useGet<Page>(`/admin/v1/audit?limit=${COUNTED}&since=${days[0]}`, 30_000);
  return (
    <Wait of={found}>
      {({ entries }) => {
        const all = [...new Set(entries.map(keyOf))].map((key) => {
          const own = entries.filter((one) => keyOf(one) === key);
          return { key, own, name: own.map(actorOf)[0] ?? '' };
        });
        const actors = sortedBy(all, ({ own }) => own.length, true).slice(0, COLORS.length);
        return (
          <div class="grid">
            <Card title="Changes by day, last 30 days">
              <Chart
                label="Changes by day and actor, last 30 days"
                kind="stacked bars"
                height={100}
                times={days.map((day) => Date.parse(day) / 1000)}
                lines={actors.map(({ name, own }, index) => ({
                  title: name,
                  color: COLORS[index] as string,
                  values: days.map((day) => own.filter(({ at }) => at.startsWith(day)).length),
                }))}
              />
            </Card>
            <Bars
              title="Changes by actor, last 30 days"
              empty="None in the last 30 days."
              bars={actors.map(({ key, name, own }) => ({
                key,
                title: (
                  <a href={key === hrefOf(['audit'], filter) ? hrefOf(['audit']) : key}>
                    <Name>{name}</Name>
                  </a>
                ),
                says: `${counted(own.length, 'change')}, last ${fromNow(own[0]?.at ?? '', Date.now())}`,
                share: own.length / entries.length,
              }))}
            />
          </div>
        );
      }}
    </Wait>
  );
}

function Filter({ filter }: { readonly filter: FilterValues }) {
  const apply = (values: Values) => go(hrefOf(['audit'], values as FilterValues));
  return (
    <details open={Object.values(filter).some((one) => one !== '')}>
      <summary>
        <strong>Search</strong>
      </summary>
      <SchemaForm
        label="Search the audit"
        fields={FILTER}
        start={filter}
        submit="Search"
        send={async (values) => apply(values)}
        // Selected values apply at once, typed ones on submit.
        changed={(values, part) => ('action' in part || 'since' in part) && apply(values)}
      />
    </details>
  );
}

function Entries({ filter }: { readonly filter: FilterValues }) {
  const { api } = useAdmin();
  const { fault } = useNotices();
  const ask = (before: string, signal?: AbortSignal) => {
    const given = Object.entries({ ...filter, limit: String(PAGE), before }).filter(([, one]) => one !== '');
    return api.get<Page>(`/admin/v1/audit?${new URLSearchParams(given)}`, signal);
  };
  const first = useLoad('audit', (signal) => ask('', signal));
  const nameOf = useNames();
  const [further, setFurther] = useState<readonly Page[]>([]);
  // Further pages belong to the old first page.
  useEffect(() => setFurther([]), [first.value]);
  const older = (before: string) =>
    void ask(before).then((page) => setFurther((was) => [...was, page]), fault);
  return (
    <Wait of={first}>
      {(value) => {
        const pages = [value, ...further];
        const all = pages.flatMap(({ entries }) => entries);
        const next = pages.at(-1)?.next ?? null;
        return (
          <>
            {all.length === 0 ? (
              <Empty>No entries match: empty a field of the search above to see more.</Empty>
            ) : null}
            <ul class="audit">
              {foldSignIns(all).map((told) => (
                <Entry key={told.entry.id} {...told} nameOf={nameOf} />
              ))}
            </ul>
            {next === null ? null : <Button label="Show older entries" act={() => older(next)} />}
          </>
        );
      }}
    </Wait>
  );
}

type EntryProps = ReturnType<typeof foldSignIns>[number] & { readonly nameOf: NameOf };

function Entry({ entry, times, firstAt, nameOf }: EntryProps) {
  const { at, actor, issuer, sub, address, action, subject, before, after } = entry;
  const failure = failureOf(after);
  const changed = changedIn(entry) ?? failure;
  return (
    <li>
      <details>
        <summary>
          <span>
            {failure === null ? null : <Tag tone="bad">failed</Tag>} <bdi>{sentenceOf(entry, nameOf)}</bdi>
            {changed === null ? null : <span class="quiet">: {changed}</span>}
            {times === 1 ? null : (
              <span class="quiet">
                {' '}
                {times} times since {moment(firstAt)}, last
              </span>
            )}
          </span>
          <span class="small quiet" title={fromNow(at, Date.now())}>
            {address === null ? '' : `from ${address}, `}
            {secondOf(Date.parse(at))}
          </span>
        </summary>
        <p class="small quiet">
          {at} · {actor}
          {sub === undefined ? null : (
            <>
              {' '}
              <bdi>{sub}</bdi> of <bdi>{issuer}</bdi>
            </>
          )}
          {address === null ? '' : ` from ${address}`} · {action} · <bdi>{subject}</bdi>
        </p>
        <ChangeList before={before} after={after} />
      </details>
    </li>
  );
}

export function ChangeList({ before, after }: Pick<AuditEntry, 'before' | 'after'>) {
  const changes = changesOf(before, after);
  if (changes.length === 0) return null;
  return (
    <dl class="changes">
      {changes.map(({ path, before: was, after: is }) => (
        <div key={path}>
          <dt>
            <code>{path === '' ? 'the whole record' : path}</code>
          </dt>
          <dd>
            {was === null ? null : <del>{was}</del>} {was === null || is === null ? '' : '→ '}
            {is === null ? null : <ins>{is}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
