/** What happened by day and by actor, a search, and entries as sentences with details. */
import { useEffect, useState } from 'preact/hooks';
import type { AnswerTo } from '../../api/operations/table.js';
import { Chart } from '../ui/chart.js';
import { Fields } from '../ui/fields.js';
import type { FieldSpec } from '../ui/form-values.js';
import { counted, fromNow, moment } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { useNotices } from '../ui/notices.js';
import { Bars, Button, Card, Empty, Name, Tag, Wait } from '../ui/parts.js';
import { go, hrefOf, useRoute } from '../ui/route.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { useAdmin } from './admin.js';
import { type AuditEntry, changesOf, sentenceOf } from './audit-sentence.js';
import { failureOf } from './token-types.js';

const PAGE = 50;

const FILTER: readonly FieldSpec[] = [
  { name: 'search', label: 'Text', is: 'search', placeholder: 'a name, an id, an address …' },
  {
    ...{ name: 'action', label: 'About' },
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
      lead="Who changed what, when and from where. It is complete, and contains no secrets."
    >
      <Lately actor={filter.actor ?? ''} />
      <Filter key={filter.actor} filter={filter} />
      <Entries key={JSON.stringify(filter)} filter={filter} />
    </View>
  );
}

const DAY_S = 86_400;
const DAYS = 30;
/** Most entries that are counted; more are older than they would be seen in the pictures. */
const COUNTED = 1000;
const COLORS = ['--c1', '--c3', '--c2', '--c5', '--c4'];

/** The last month in pictures. @param actor the chosen one */
function Lately({ actor: chosen }: { readonly actor: string }) {
  const today = Math.floor(Date.now() / 1000 / DAY_S) * DAY_S;
  const times = Array.from({ length: DAYS }, (_, index) => today + (index + 1 - DAYS) * DAY_S);
  const since = new Date((times[0] ?? today) * 1000).toISOString();
  const found = useGet<Page>(`/admin/v1/audit?limit=${COUNTED}&since=${since}`, 30_000);
  return (
    <Wait of={found}>
      {({ entries, next }) => {
        const actors = [...new Set(entries.map(({ actor }) => actor))]
          .map((name) => ({ name, own: entries.filter(({ actor }) => actor === name) }))
          .sort((one, other) => other.own.length - one.own.length)
          .slice(0, COLORS.length);
        if (entries.length === 0)
          return (
            <Empty>
              Nothing was changed in the last 30 days: changes here and by the CLI appear at once.
            </Empty>
          );
        return (
          <div class="grid">
            <Card title="Changes by day">
              <Chart
                label="Changes by day and actor, last 30 days"
                kind="stacked bars"
                times={times}
                height={110}
                lines={actors.map(({ name, own }, index) => ({
                  title: name,
                  color: COLORS[index] ?? '--c6',
                  values: times.map(
                    (day) =>
                      own.filter(({ at }) => Math.floor(Date.parse(at) / 1000 / DAY_S) * DAY_S === day)
                        .length,
                  ),
                }))}
              />
            </Card>
            <Card title="Changes by actor">
              <Bars
                label="Changes by actor, last 30 days"
                bars={actors.map(({ name, own }) => ({
                  key: name,
                  title: (
                    <a href={hrefOf(['audit'], name === chosen ? {} : { actor: name })}>
                      <Name>{name}</Name>
                    </a>
                  ),
                  says: `${next === null ? '' : 'at least '}${counted(own.length, 'change')}, last ${fromNow(own[0]?.at ?? '', Date.now())}`,
                  share: own.length / entries.length,
                }))}
              />
            </Card>
          </div>
        );
      }}
    </Wait>
  );
}

function Filter({ filter }: { readonly filter: FilterValues }) {
  const [draft, setDraft] = useState(filter);
  const apply = (next: FilterValues) => go(hrefOf(['audit'], next));
  const change = (part: object) => {
    const next = { ...draft, ...part };
    setDraft(next);
    // Selected values apply at once, typed ones on submit.
    if ('action' in part || 'since' in part) apply(next);
  };
  return (
    <form
      class="form-grid card"
      aria-label="Search the audit"
      onSubmit={(event) => {
        event.preventDefault();
        apply(draft);
      }}
    >
      <Fields fields={FILTER} values={draft} set={change} />
      <div class="row">
        <Button label="Search" class="primary" />
      </div>
    </form>
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
          <Card>
            {all.length === 0 ? <Empty>No entries match: empty a field above to see more.</Empty> : null}
            <ul class="audit">
              {all.map((entry) => (
                <Entry key={entry.id} entry={entry} />
              ))}
            </ul>
            {next === null ? null : <Button label="Show older entries" act={() => older(next)} />}
          </Card>
        );
      }}
    </Wait>
  );
}

function Entry({ entry }: { readonly entry: AuditEntry }) {
  const { at, actor, address, action, subject, before, after } = entry;
  return (
    <li>
      <details>
        <summary>
          <span>
            {failureOf(after) === null ? null : <Tag tone="bad">failed</Tag>} <bdi>{sentenceOf(entry)}</bdi>
          </span>
          <span class="small quiet" title={moment(at)}>
            {fromNow(at, Date.now())}
          </span>
        </summary>
        <p class="small quiet">
          {moment(at)} · {actor}
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
            <code>{path === '' ? 'all' : path}</code>
          </dt>
          <dd>
            {was === null ? null : <del>{was}</del>} {is === null ? null : <ins>{is}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
