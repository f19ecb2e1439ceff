/** What is cached and how it serves, cache state of a report, purges, and learned facts. */
import { useState } from 'preact/hooks';
import { Chart } from '../../ui/chart.js';
import { Field } from '../../ui/fields.js';
import { bytes, counted, fromNow, percent } from '../../ui/format.js';
import { KeptDays, KeptFigures, KeptWords } from '../../ui/kept.js';
import { Bars, Button, Card, Wait } from '../../ui/parts.js';
import { go, hrefOf, useRoute } from '../../ui/route.js';
import { useGet } from '../../ui/session.js';
import { View } from '../../ui/shell.js';
import { sortedBy } from '../../ui/sort.js';
import type { Status } from '../overview.js';
import { callLines, OverviewFigures } from '../overview-charts.js';
import { type SeriesAnswer, sum, timesOf } from '../series.js';
import { Divisibility } from './divisibility.js';
import { type Explained, questionOf } from './explained.js';
import { LearnedOfAdvertiser, LearnedOfReport } from './learned.js';
import { PurgeCard } from './purge.js';

export function Cache() {
  const { query } = useRoute();
  const url = query.get('url') ?? '';
  const explained = useGet<Explained>(url === '' ? null : `/admin/v1/cache/explain?${questionOf(url)}`);
  return (
    <View title="Cache" lead="What the cache holds, and what it did in the last 24 hours.">
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
      {url === '' ? <LearnedOfAdvertiser advertiser={query.get('advertiser') ?? ''} /> : null}
      <Divisibility />
    </View>
  );
}

const LIVE_MS = 10_000;
/** Most bars in a card. */
const MOST = 6;
const NOTHING = 'Nothing yet: a report appears here within ten seconds of its first request.';

function Now() {
  const status = useGet<Status>('/admin/v1/status', LIVE_MS);
  const series = useGet<SeriesAnswer>('/admin/v1/series?range=24h', LIVE_MS);
  return (
    <>
      <Wait of={series}>{(answer) => <OverviewFigures answer={answer} />}</Wait>
      <Wait of={status}>{({ cache }) => <InMemory {...cache} />}</Wait>
      <Wait of={series}>
        {(answer) =>
          sum(answer.series.requests) === 0 ? null : (
            <Card title="Platform calls, 24 hours">
              <Chart
                label="Platform calls made and saved over 24 hours"
                times={timesOf(answer)}
                lines={callLines(answer.series)}
                height={110}
              />
            </Card>
          )
        }
      </Wait>
    </>
  );
}

function InMemory({ l1Bytes, l1Entries, reports }: Status['cache']) {
  const now = Date.now();
  const held = reports.filter(({ answers }) => answers > 0).slice(0, MOST);
  const endpoints = [...new Set(reports.map(({ endpoint }) => endpoint))].map((endpoint) => {
    const own = reports.filter((one) => one.endpoint === endpoint);
    const requests = sum(own.map((one) => one.requests));
    return { endpoint, requests, share: sum(own.map(({ hits }) => hits)) / Math.max(1, requests) };
  });
  return (
    <div class="grid">
      <Bars
        title="Hits by endpoint"
        tools={<span class="small quiet">since the start of the process</span>}
        empty={NOTHING}
        bars={sortedBy(endpoints, ({ requests }) => requests, true)
          .slice(0, MOST)
          .map(({ endpoint, requests, share }) => ({
            ...{ key: endpoint, title: endpoint, share },
            says: `${percent(share)} of ${counted(requests, 'report')}`,
          }))}
      />
      <Bars
        title="Biggest in memory"
        tools={<span class="small quiet">{`${counted(l1Entries, 'answer')}, ${bytes(l1Bytes)}`}</span>}
        empty={NOTHING}
        bars={held.map(({ endpoint, advertiserId, bytes: size, freshUntil }) => ({
          key: `${endpoint} ${advertiserId}`,
          title: `${endpoint}${advertiserId === null ? '' : `, advertiser ${advertiserId}`}`,
          says: `${bytes(size)}, ${freshUntil === null || Date.parse(freshUntil) <= now ? 'expired' : `expires ${fromNow(freshUntil, now)}`}`,
          share: size / (held[0]?.bytes ?? size),
        }))}
      />
    </div>
  );
}

function AskCard({ url }: { readonly url: string }) {
  const [text, setText] = useState(url);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    go(hrefOf(['cache'], { url: text.trim() }));
    scrollTo(0, 0);
  };
  return (
    <Card title="Explain a report">
      <form class="ask stack" onSubmit={submit}>
        <Field
          label="URL of a report"
          help="Copied from an app, a log or the docs, with any host; or campaigns/get?advertiserId=… The platform is not called."
        >
          <textarea
            rows={2}
            required
            spellcheck={false}
            value={text}
            onInput={({ currentTarget: { value } }) => setText(value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              event.preventDefault();
              event.currentTarget.form?.requestSubmit();
            }}
          />
        </Field>
        <div class="row">
          <Button label="Explain" class="primary" />
          {url === '' ? null : <Button label="Clear" act={() => go(hrefOf(['cache']))} />}
        </div>
      </form>
    </Card>
  );
}

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
