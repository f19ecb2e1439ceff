/** The cache: what it holds of a report and why, what forgetting would cost, and what was learned of reports. */
import { useEffect, useState } from 'preact/hooks';
import { useLoad } from '../../ui/load.js';
import { Card, Field, Wait } from '../../ui/parts.js';
import { go, hrefOf, useRoute } from '../../ui/route.js';
import { View } from '../../ui/shell.js';
import { useAdmin } from '../admin.js';
import { Divisibility } from './divisibility.js';
import { type Explained, questionOf } from './explained.js';
import { LearnedOfAdvertiser, LearnedOfReport } from './learned.js';
import { PurgeCard } from './purge.js';
import { DaysCard, ReportCard } from './report-card.js';
import './cache.css';

export function Cache() {
  const { api } = useAdmin();
  const { query } = useRoute();
  const url = query.get('url') ?? '';
  const advertiser = query.get('advertiser') ?? '';
  const explained = useLoad(url === '' ? null : `explain ${url}`, (signal) =>
    api.get<Explained>(`/admin/v1/cache/explain?${questionOf(url)}`, signal),
  );
  return (
    <View title="Cache" lead="What is kept of a report, why so, and what an answer would cost now.">
      <AskCard url={url} />
      {url === '' ? (
        <PurgeCard explained={null} purged={explained.reload} />
      ) : (
        <Wait of={explained}>
          {(value) => (
            <>
              <ReportCard explained={value} />
              <DaysCard explained={value} />
              <PurgeCard key={value.canonical.target} explained={value} purged={explained.reload} />
              <LearnedOfReport explained={value} />
            </>
          )}
        </Wait>
      )}
      {url === '' ? <LearnedOfAdvertiser advertiser={advertiser} /> : null}
      <Divisibility />
    </View>
  );
}

function AskCard({ url }: { readonly url: string }) {
  const [text, setText] = useState(url);
  useEffect(() => setText(url), [url]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    go(hrefOf(['cache'], { url: text.trim() }));
  };
  return (
    <Card title="Look into a report">
      <form class="ask" onSubmit={submit}>
        <Field
          label="Address of a report"
          help="As copied from an app, a log or the docs, of whatever host; or campaigns/get?advertiserId=… Nothing is asked of the platform."
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
          <button type="submit" class="primary">
            Explain
          </button>
          {url === '' ? null : (
            <button type="button" onClick={() => go(hrefOf(['cache']))}>
              Clear
            </button>
          )}
        </div>
      </form>
    </Card>
  );
}
