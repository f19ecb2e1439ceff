/** Cache state of a report, purges, and learned facts. */
import { useState } from 'preact/hooks';
import { Field } from '../../ui/fields.js';
import { KeptDays, KeptFigures, KeptWords } from '../../ui/kept.js';
import { Button, Card, Wait } from '../../ui/parts.js';
import { go, hrefOf, useRoute } from '../../ui/route.js';
import { useGet } from '../../ui/session.js';
import { View } from '../../ui/shell.js';
import { Divisibility } from './divisibility.js';
import { type Explained, questionOf } from './explained.js';
import { LearnedOfAdvertiser, LearnedOfReport } from './learned.js';
import { PurgeCard } from './purge.js';

export function Cache() {
  const { query } = useRoute();
  const url = query.get('url') ?? '';
  const explained = useGet<Explained>(url === '' ? null : `/admin/v1/cache/explain?${questionOf(url)}`);
  return (
    <View title="Cache" lead="Cache state of a report, its reason, and the cost of an answer now.">
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

function AskCard({ url }: { readonly url: string }) {
  const [text, setText] = useState(url);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    go(hrefOf(['cache'], { url: text.trim() }));
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
