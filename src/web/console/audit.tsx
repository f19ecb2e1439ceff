/** Who changed what: searched, as sentences, with the details below each. */

import { useEffect, useState } from 'preact/hooks';
import type { AnswerTo } from '../../api/operations/table.js';
import { Field } from '../ui/fields.js';
import { fromNow, moment } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { useNotices } from '../ui/notices.js';
import { Card, Empty, Tag, Wait } from '../ui/parts.js';
import { go, hrefOf, useRoute } from '../ui/route.js';
import { View } from '../ui/shell.js';
import { useAdmin } from './admin.js';
import './audit.css';
import { type AuditEntry, changesOf, sentenceOf } from './audit-sentence.js';
import { failureOf } from './token-types.js';

const PAGE = 50;

const KINDS = [
  { value: '', title: 'everything' },
  { value: 'team', title: 'teams' },
  { value: 'key', title: 'keys' },
  { value: 'token', title: 'the token' },
  { value: 'cache', title: 'the cache' },
  { value: 'history', title: 'the history' },
  { value: 'writes', title: 'writes' },
  { value: 'registry', title: 'backups' },
  { value: 'session', title: 'sign-ins' },
];

type Page = AnswerTo<'GET /admin/v1/audit'>;

export function Audit() {
  const { query } = useRoute();
  const filter = {
    search: query.get('search') ?? '',
    action: query.get('action') ?? '',
    team: query.get('team') ?? '',
    since: query.get('since') ?? '',
  };
  return (
    <View
      title="Audit"
      lead="Who changed what, when and from where. Nothing is left out, and nothing secret is in it."
    >
      <Filter {...filter} />
      <Entries key={JSON.stringify(filter)} filter={filter} />
    </View>
  );
}

type FilterValues = {
  readonly search: string;
  readonly action: string;
  readonly team: string;
  readonly since: string;
};

function Filter(filter: FilterValues) {
  const [draft, setDraft] = useState(filter);
  const apply = (next: FilterValues) => {
    setDraft(next);
    go(hrefOf(['audit'], next));
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
      <Field label="Words">
        <input
          type="search"
          placeholder="a name, an id, an address …"
          value={draft.search}
          onInput={(event) => setDraft({ ...draft, search: event.currentTarget.value })}
        />
      </Field>
      <Field label="About">
        <select
          value={draft.action}
          onChange={(event) => apply({ ...draft, action: event.currentTarget.value })}
        >
          {KINDS.map(({ value, title }) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Team">
        <input
          value={draft.team}
          onInput={(event) => setDraft({ ...draft, team: event.currentTarget.value })}
        />
      </Field>
      <Field label="Since">
        <input
          type="date"
          value={draft.since}
          onChange={(event) => apply({ ...draft, since: event.currentTarget.value })}
        />
      </Field>
      <div class="row">
        <button type="submit" class="primary">
          Search
        </button>
      </div>
    </form>
  );
}

function Entries({ filter }: { readonly filter: FilterValues }) {
  const { api } = useAdmin();
  const { fault } = useNotices();
  const ask = (before: string | undefined, signal?: AbortSignal) => {
    const given = Object.entries({ ...filter, limit: String(PAGE), before }).filter(
      (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '',
    );
    return api.get<Page>(`/admin/v1/audit?${new URLSearchParams(given)}`, signal);
  };
  const first = useLoad('audit', (signal) => ask(undefined, signal));
  const [further, setFurther] = useState<readonly Page[]>([]);
  // What followed the old first page does not follow the new one.
  useEffect(() => setFurther([]), [first.value]);
  const older = async (before: string) => {
    try {
      const page = await ask(before);
      setFurther((was) => [...was, page]);
    } catch (error) {
      fault(error);
    }
  };
  return (
    <Wait of={first}>
      {(value) => {
        const pages = [value, ...further];
        const all = pages.flatMap(({ entries }) => entries);
        const next = pages.at(-1)?.next ?? null;
        return (
          <Card>
            {all.length === 0 ? <Empty>No entry matches. Fewer filters find more.</Empty> : null}
            <ul class="audit">
              {all.map((entry) => (
                <Entry key={entry.id} entry={entry} />
              ))}
            </ul>
            {next === null ? null : (
              <button type="button" onClick={() => void older(next)}>
                Show older entries
              </button>
            )}
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

/** What differs between two states, member by member. */
export function ChangeList({ before, after }: Pick<AuditEntry, 'before' | 'after'>) {
  const changes = changesOf(before, after);
  if (changes.length === 0) return null;
  return (
    <dl class="changes">
      {changes.map((change) => (
        <div key={change.path}>
          <dt>
            <code>{change.path === '' ? 'all' : change.path}</code>
          </dt>
          <dd>
            {change.before === null ? null : <del>{change.before}</del>}{' '}
            {change.after === null ? null : <ins>{change.after}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
