/** Forgetting: first what it would take, then a question, then it is done. */

import { useState } from 'preact/hooks';
import type { AnswerTo } from '../../../api/operations/table.js';
import { type Fault, Refused } from '../../ui/api.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { bytes, count, counted } from '../../ui/format.js';
import { useNotices } from '../../ui/notices.js';
import { Card, Field } from '../../ui/parts.js';
import { useAdmin } from '../admin.js';
import { faultAt } from '../teams/team.js';
import { advertiserOf, type Explained } from './explained.js';

interface Scope {
  readonly endpoint: string;
  readonly advertiserId: string;
  readonly from: string;
  readonly to: string;
}

type Preview = Required<Omit<AnswerTo<'POST /admin/v1/cache/purge'>, 'dryRun'>>;

/** Where nothing is said, everything is meant. */
function bodyOf({ endpoint, advertiserId, from, to }: Scope): Record<string, unknown> {
  const body = {
    ...(endpoint.trim() === '' ? {} : { endpoint: endpoint.trim() }),
    ...(advertiserId.trim() === '' ? {} : { advertiserId: Number(advertiserId) }),
    ...(from === '' ? {} : { from }),
    ...(to === '' ? {} : { to }),
  };
  return Object.keys(body).length === 0 ? { all: true } : body;
}

function scopeOf(explained: Explained | null): Scope {
  if (explained === null) return { endpoint: '', advertiserId: '', from: '', to: '' };
  return {
    endpoint: explained.report.endpoint,
    advertiserId: advertiserOf(explained),
    from: explained.days?.[0]?.date ?? '',
    to: explained.days?.at(-1)?.date ?? '',
  };
}

interface PurgeCardProps {
  /** The report that is looked at. */
  readonly explained: Explained | null;
  readonly purged: () => void;
}

/** Not for those who may not do it. */
export function PurgeCard({ explained, purged }: PurgeCardProps) {
  const { api, may } = useAdmin();
  const { act, fault } = useNotices();
  const [scope, setScope] = useState(() => scopeOf(explained));
  const [preview, setPreview] = useState<Preview | null>(null);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  if (!may('POST /admin/v1/cache/purge')) return null;
  const body = bodyOf(scope);
  const change = (part: Partial<Scope>) => {
    setScope({ ...scope, ...part });
    // What was shown was of something else.
    setPreview(null);
    setFaults([]);
  };
  const look = async (event: SubmitEvent) => {
    event.preventDefault();
    const named = explained !== null && body.endpoint === explained.report.endpoint;
    const asked = { ...body, dryRun: true, ...(named ? { query: explained.report.query } : {}) };
    try {
      setPreview(await api.send<Preview>('POST', '/admin/v1/cache/purge', asked));
    } catch (error) {
      const told = error instanceof Refused ? (error.problem.errors ?? []) : [];
      setFaults(told);
      if (told.length === 0) fault(error);
    }
  };
  const forget = async () => {
    const words = 'Forgotten. Who asks for it next asks the platform.';
    if (!(await act(() => api.send('POST', '/admin/v1/cache/purge', body), words))) return;
    setPreview(null);
    purged();
  };
  return (
    <Card title="Forget">
      <p class="quiet">
        Reports within all that is said here are asked for anew, by whoever asks for them. What is left empty
        means any.
      </p>
      <form class="stack" noValidate onSubmit={(event) => void look(event)}>
        <ScopeFields scope={scope} change={change} faults={faults} />
        <div class="row">
          <button type="submit">Preview</button>
          {preview === null ? null : (
            <ConfirmButton
              label="Forget it"
              grave
              question={<PreviewWords preview={preview} />}
              act={forget}
            />
          )}
        </div>
      </form>
      {preview === null ? null : (
        <section class="note info stack" aria-label="Preview" role="status">
          <PreviewWords preview={preview} />
        </section>
      )}
    </Card>
  );
}

interface ScopeFieldsProps {
  readonly scope: Scope;
  readonly change: (part: Partial<Scope>) => void;
  readonly faults: readonly Fault[];
}

function ScopeFields({ scope, change, faults }: ScopeFieldsProps) {
  return (
    <div class="form-grid">
      <Field label="Endpoint" fault={faultAt(faults, 'endpoint')}>
        <input
          value={scope.endpoint}
          placeholder="campaigns/get"
          spellcheck={false}
          onInput={({ currentTarget: { value } }) => change({ endpoint: value })}
        />
      </Field>
      <Field label="Advertiser id" fault={faultAt(faults, 'advertiserId')}>
        <input
          value={scope.advertiserId}
          inputMode="numeric"
          onInput={({ currentTarget: { value } }) => change({ advertiserId: value })}
        />
      </Field>
      <Field label="From day" fault={faultAt(faults, 'from')}>
        <input
          type="date"
          value={scope.from}
          onInput={({ currentTarget: { value } }) => change({ from: value })}
        />
      </Field>
      <Field label="To day" fault={faultAt(faults, 'to')}>
        <input
          type="date"
          value={scope.to}
          onInput={({ currentTarget: { value } }) => change({ to: value })}
        />
      </Field>
    </div>
  );
}

/** As many as one reads. */
const MOST_NAMED = 8;

function PreviewWords({ preview: { purged, preview } }: { readonly preview: Preview }) {
  const { days, reports, report } = preview;
  return (
    <div class="stack">
      <p>
        Would be forgotten: <strong>{purged === 'all' ? 'everything' : purged}</strong>
        {days === null ? '' : ` (${counted(days, 'day')})`}.
      </p>
      {report === null ? null : (
        <p>
          Of the report above: {counted(report.entries, 'entry', 'entries')} with{' '}
          {counted(report.rows, 'row')} in {bytes(report.bytes)}.
        </p>
      )}
      {reports.length === 0 ? (
        <p>No report by date that is in use is known to be among it.</p>
      ) : (
        <>
          <p>{counted(reports.length, 'kind')} of reports by date in use would be asked for anew:</p>
          <ul>
            {reports.slice(0, MOST_NAMED).map(({ endpoint, advertiserId, split }) => (
              <li key={`${endpoint} ${advertiserId} ${split.join()}`}>
                {endpoint}, {advertiserId === null ? 'no advertiser' : `advertiser ${advertiserId}`}, by{' '}
                {split.join(', ')}
              </li>
            ))}
          </ul>
          {reports.length > MOST_NAMED ? <p>And {count(reports.length - MOST_NAMED)} more.</p> : null}
        </>
      )}
      <p>The history of what was said stays. Nothing is deleted at the platform.</p>
    </div>
  );
}
