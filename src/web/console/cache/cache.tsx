/** Contents and use of the cache, cache state of a report, purges, and learned facts. */
import type { ComponentChildren } from 'preact';
import type { FieldSpec } from '../../ui/form-values.js';
import { bytes, counted, fromNow, percent } from '../../ui/format.js';
import { KeptDays, KeptFigures, KeptWords } from '../../ui/kept.js';
import { Bars, Button, Card, Together, Wait } from '../../ui/parts.js';
import { go, hrefOf, useRoute } from '../../ui/route.js';
import { SchemaForm } from '../../ui/schema-form.js';
import { useGet } from '../../ui/session.js';
import { View } from '../../ui/shell.js';
import { sortedBy } from '../../ui/sort.js';
import { useNames } from '../names.js';
import { CALLS, OverviewFigures, SeriesChart } from '../overview-charts.js';
import { type SeriesAnswer, sum } from '../series.js';
import type { Status } from '../verdict-words.js';
import { Divisibility } from './divisibility.js';
import { type Explained, questionOf } from './explained.js';
import { LastChangesCard } from './last-changes-card.js';
import { LearnedOfAdvertiser, LearnedOfReport } from './learned.js';
import { PurgeCard } from './purge.js';

export function Cache() {
  const { query } = useRoute();
  const url = query.get('url') ?? '';
  const explained = useGet<Explained>(url === '' ? null : `/admin/v1/cache/explain?${questionOf(url)}`);
  return (
    <View title="Cache" lead="Contents of the cache, and its use in the last 24 hours.">
      {url === '' ? <Now /> : null}
      <AskCard key={url} url={url} />
      {url === '' ? (
        <PurgeCard explained={null} purged={explained.reload} />
      ) : (
        <Wait of={explained}>
          {(value) => (
            <>
              <KeptFigures explained={value} />
              <ReportCard explained={value} />
              <Card title={value.days === null ? 'Entry' : 'Days'}>
                <KeptDays explained={value} />
              </Card>
              <PurgeCard key={value.canonical.target} explained={value} purged={explained.reload} />
              <LearnedOfReport explained={value} />
            </>
          )}
        </Wait>
      )}
      {url === '' ? <LastChangesCard /> : null}
      {url === '' ? <LearnedOfAdvertiser advertiser={query.get('advertiser') ?? ''} /> : null}
      <Divisibility />
    </View>
  );
}

const LIVE_MS = 10_000;
/** Maximum bars in a card. */
const MOST = 6;
const NOTHING = 'Nothing yet: a report appears here within ten seconds of its first request.';

function Now() {
  const status = useGet<Status>('/admin/v1/status', LIVE_MS);
  const series = useGet<SeriesAnswer>('/admin/v1/series?range=24h', LIVE_MS);
  return (
    <Together of={[status, series]}>
      <Wait of={series}>{(answer) => <OverviewFigures answer={answer} />}</Wait>
      <Wait of={status}>
        {({ cache }) => (
          <InMemory {...cache}>
            <Wait of={series}>{(answer) => <SeriesChart chart={CALLS} answer={answer} height={110} />}</Wait>
          </InMemory>
        )}
      </Wait>
    </Together>
  );
}

type InMemoryProps = Status['cache'] & { readonly children: ComponentChildren };

/** @param children below the hits */
function InMemory({ l1Bytes, l1Entries, reports, children }: InMemoryProps) {
  const now = Date.now();
  const nameOf = useNames();
  const held = reports.filter(({ answers }) => answers > 0).slice(0, MOST);
  const endpoints = [...new Set(reports.map(({ endpoint }) => endpoint))].map((endpoint) => {
    const own = reports.filter((one) => one.endpoint === endpoint);
    const requests = sum(own.map((one) => one.requests));
    return { endpoint, requests, share: sum(own.map(({ hits }) => hits)) / Math.max(1, requests) };
  });
  return (
    <div class="grid">
      <div class="grid">
        <Bars
          title="Hits by endpoint"
          tools={<span class="small quiet">since the start of the process</span>}
          empty={NOTHING}
          bars={sortedBy(endpoints, ({ requests }) => requests, true)
            .slice(0, MOST)
            .map(({ endpoint, requests, share }) => ({
              key: endpoint,
              title: endpoint,
              share,
              says: `${percent(share)} of ${counted(requests, 'report')}`,
            }))}
        />
        {children}
      </div>
      <Bars
        title="Biggest in memory"
        tools={<span class="small quiet">{`${counted(l1Entries, 'answer')}, ${bytes(l1Bytes)}`}</span>}
        empty={NOTHING}
        bars={held.map(({ endpoint, advertiserId, bytes: size, freshUntil }) => {
          const isFresh = freshUntil !== null && Date.parse(freshUntil) > now;
          const name = nameOf('advertiser', String(advertiserId));
          const advertiser = name === String(advertiserId) ? `advertiser ${name}` : name;
          return {
            key: `${endpoint} ${advertiserId}`,
            title: advertiserId === null ? endpoint : `${endpoint}, ${advertiser}`,
            says: `${bytes(size)}, ${isFresh ? `expires ${fromNow(freshUntil, now)}` : 'stale'}`,
            share: size / (held[0]?.bytes ?? size),
            tone: isFresh ? 'info' : 'quiet',
          };
        })}
      />
    </div>
  );
}

const URL_FIELD: readonly FieldSpec[] = [
  {
    name: 'url',
    label: 'URL of a report',
    required: true,
    help: 'Copied from an app, a log or the docs, with any host; or campaigns/get?advertiserId=… The platform is not called.',
  },
];

const AskCard = ({ url }: { readonly url: string }) => (
  <Card title="Explain a report">
    <SchemaForm
      fields={URL_FIELD}
      start={{ url }}
      submit="Explain"
      send={async (values) => {
        go(hrefOf(['cache'], { url: String(values.url).trim() }));
        scrollTo(0, 0);
      }}
      buttons={url === '' ? null : <Button label="Clear" act={() => go(hrefOf(['cache']))} />}
    />
  </Card>
);

const ReportCard = ({ explained }: { readonly explained: Explained }) => (
  <Card title="Caching">
    <KeptWords explained={explained} />
    {explained.warnings.map(({ code, message }) => (
      <p key={code} class="note warn">
        {message}
      </p>
    ))}
    {explained.passedOn.length === 0 ? null : (
      <p class="note warn">
        Unknown parameters, passed to the platform unchanged: {explained.passedOn.join(', ')}
      </p>
    )}
    <h3>Canonical form</h3>
    <p class="small quiet">Queries with the same canonical form share one cached answer.</p>
    <pre>
      {explained.canonical.method} {explained.canonical.target}
      {explained.canonical.body === null ? '' : `\n\n${explained.canonical.body}`}
    </pre>
  </Card>
);
