/** A purge: preview, confirmation, execution. */
import { useState } from 'preact/hooks';
import type { AnswerTo } from '../../../api/operations/table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { bodyOf, type Values } from '../../ui/form-values.js';
import { bytes, count, counted } from '../../ui/format.js';
import { useNotices } from '../../ui/notices.js';
import { Button, Card } from '../../ui/parts.js';
import { SchemaForm } from '../../ui/schema-form.js';
import { useAdmin } from '../admin.js';
import type { FieldsOf } from '../fields-of.js';
import { advertiserOf, type Explained } from './explained.js';

type Preview = Required<Omit<AnswerTo<'POST /admin/v1/cache/purge'>, 'dryRun' | 'soft'>>;

const SCOPE: FieldsOf<'POST /admin/v1/cache/purge'> = [
  { name: 'endpoint', label: 'Endpoint', placeholder: 'campaigns/get' },
  { name: 'advertiserId', label: 'Advertiser id', is: 'decimal' },
  { name: 'from', label: 'From day', is: 'date' },
  { name: 'to', label: 'To day', is: 'date' },
];

/** Without fields the purge covers everything. */
function scopeOf(values: Values): Record<string, unknown> {
  const body = bodyOf(SCOPE, values);
  return Object.keys(body).length === 0 ? { all: true } : body;
}

/** @param explained the shown report */
export function PurgeCard({ explained, purged }: { explained: Explained | null; purged: () => void }) {
  const { api, may } = useAdmin();
  const { act } = useNotices();
  const [looked, setLooked] = useState<{ readonly body: object; readonly preview: Preview } | null>(null);
  if (!may('POST /admin/v1/cache/purge')) return null;
  const look = async (values: Values) => {
    const body = scopeOf(values);
    const named = explained !== null && body.endpoint === explained.report.endpoint;
    const asked = { ...body, dryRun: true, ...(named && { query: explained.report.query }) };
    setLooked({ body, preview: await api.send<Preview>('POST', '/admin/v1/cache/purge', asked) });
  };
  const forget = async (body: object, soft: boolean) => {
    const words = soft
      ? 'Stale now. The next request starts a refresh.'
      : 'Purged. The next request calls the platform.';
    if (!(await act(() => api.send('POST', '/admin/v1/cache/purge', { ...body, soft }), words))) return;
    setLooked(null);
    purged();
  };
  const words = looked === null ? null : <PreviewWords preview={looked.preview} />;
  return (
    <Card title="Purge">
      <p class="quiet">
        Reports that match all of these fields are fetched again on their next request. An empty field matches
        any.
      </p>
      <SchemaForm
        fields={SCOPE}
        start={
          explained === null
            ? {}
            : {
                endpoint: explained.report.endpoint,
                advertiserId: advertiserOf(explained),
                from: explained.days?.[0]?.date,
                to: explained.days?.at(-1)?.date,
              }
        }
        submit="Preview"
        look=""
        send={look}
        changed={() => setLooked(null)}
        buttons={
          looked === null ? null : (
            <>
              <Button label="Mark as stale" class="primary" act={() => forget(looked.body, true)} />
              <ConfirmButton label="Purge" grave question={words} act={() => forget(looked.body, false)} />
            </>
          )
        }
      />
      {words === null ? null : (
        <section class="note info stack" aria-label="Preview" role="status">
          {words}
        </section>
      )}
    </Card>
  );
}

const MOST_NAMED = 8;

function PreviewWords({ preview: { purged, preview } }: { readonly preview: Preview }) {
  const { days, reports, calls, report } = preview;
  return (
    <div class="stack">
      <p>
        Affected: <strong>{purged === 'all' ? 'everything' : purged}</strong>
        {days === null ? '' : ` (${counted(days, 'day')})`}.
      </p>
      <p>
        Both cost at least {counted(report?.calls ?? calls, 'platform call')}, when the reports are requested.
        Marked as stale, they are served at once while the calls run, and if the platform fails. Purged, they
        are removed, and requests wait for the calls.
      </p>
      {report === null ? null : (
        <p>
          Cached for the report above: {counted(report.entries, 'entry', 'entries')} with{' '}
          {counted(report.rows, 'row')} in {bytes(report.bytes)}.
        </p>
      )}
      <p>
        {reports.length === 0
          ? 'No known report by date is affected.'
          : `${counted(reports.length, 'kind')} of reports by date in use would be fetched again:`}
      </p>
      {reports.length === 0 ? null : (
        <ul>
          {reports.slice(0, MOST_NAMED).map(({ endpoint, advertiserId, split }) => (
            <li key={`${endpoint} ${advertiserId} ${split.join()}`}>
              {endpoint}, {advertiserId === null ? 'no advertiser' : `advertiser ${advertiserId}`}, by{' '}
              {split.join(', ')}
            </li>
          ))}
        </ul>
      )}
      {reports.length > MOST_NAMED ? <p>And {count(reports.length - MOST_NAMED)} more.</p> : null}
      <p>History stays. Nothing is deleted on the platform.</p>
    </div>
  );
}
