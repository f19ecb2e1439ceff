/** The verdict: is it well; if not, which part, since when, what it costs, and what to do. */
import { useState } from 'preact/hooks';
import type { AnswerTo } from '../../api/operations/table.js';
import { costOf, sentence, versionOf } from '../../lib/words.js';
import { counted, moment, span } from '../ui/format.js';
import { useNotices } from '../ui/notices.js';
import { Button, Card, Tag } from '../ui/parts.js';
import { hrefOf } from '../ui/route.js';
import { useAdmin } from './admin.js';
import { headlineOf, lastsOf, pageOf, type Status, toneOfLevel, wholeOf } from './verdict-words.js';

interface VerdictProps {
  readonly status: Status;
  /** When it was so, if it could not be asked for since. */
  readonly staleSince: Date | null;
}

export function VerdictCard({ status, staleSince }: VerdictProps) {
  const { ready, uptimeSeconds, verdict, notes, processes } = status;
  const isOld = staleSince !== null;
  const { words, tone } = headlineOf(status);
  const cost = costOf(status);
  const whole = wholeOf(verdict, Date.now());
  return (
    <Card class={`verdict ${isOld ? 'quiet' : tone}`}>
      <div class="card-head">
        <h2>{isOld ? `Unknown since ${moment(staleSince.toISOString())}` : words}</h2>
        <p class="small quiet">
          {isOld ? `Last known: “${words}”, ` : ''}
          {ready ? '' : <Tag tone={isOld ? 'quiet' : 'bad'}>not ready</Tag>} version {versionOf(status)}, up
          for {span(uptimeSeconds)},{' '}
          {processes.length === 1 ? 'one process' : `${processes.length} processes`}
        </p>
      </div>
      {whole === '' || isOld ? null : <p>{whole}</p>}
      {verdict.recovered === undefined ? null : <p>{verdict.recovered.says}</p>}
      {words.endsWith(cost) ? null : <p>{sentence(cost)}</p>}
      {verdict.findings.length + notes.length === 0 ? null : (
        <ul class="findings">
          {verdict.findings.map((found) => (
            <Finding key={found.says} found={found} isOld={isOld} />
          ))}
          {notes.map((note) => (
            <li key={note}>
              <Note note={note} />
            </li>
          ))}
        </ul>
      )}
      {isOld ? null : <Checkup />}
    </Card>
  );
}

/** With its page in place of the commands, where there is one. */
function Note({ note }: { readonly note: string }) {
  const page = pageOf(note);
  return (
    <span>
      <Tag tone="quiet">note</Tag> {page === null ? note : note.replace(/ \([^()]*dsp-gateway [^()]*\)$/, '')}
      {page === null ? null : (
        <>
          : <a href={hrefOf([page.section])}>{page.title}</a>
        </>
      )}
    </span>
  );
}

type Found = Status['verdict']['findings'][number];

function Finding({ found, isOld }: { readonly found: Found; readonly isOld: boolean }) {
  const { may } = useAdmin();
  const { level, part, says, details, do: advice } = found;
  const lasts = lastsOf(found, Date.now());
  const page = pageOf(advice);
  return (
    <li>
      <span>
        <Tag tone={isOld ? 'quiet' : toneOfLevel(level)}>{level}</Tag>{' '}
        {lasts === '' ? null : <strong>{lasts}: </strong>}
        {says}
      </span>
      {details === undefined ? null : <p class="quiet">{details}</p>}
      <p>
        <strong>To do:</strong> {advice}
        {may('POST /admin/v1/doctor') && advice.includes('dsp-gateway doctor')
          ? ' Or press “Check everything now” below.'
          : null}
        {page === null ? null : (
          <>
            {' '}
            Or on the page <a href={hrefOf([page.section])}>{page.title}</a>.
          </>
        )}
        {part === 'platform'
          ? ' Callers get cached reports meanwhile; an error lists the days that are cached, in its member known.'
          : null}
      </p>
    </li>
  );
}

type Checks = AnswerTo<'POST /admin/v1/doctor'>['checks'];

/** Checks on request, as they make a platform call. */
function Checkup() {
  const { api, may } = useAdmin();
  const { fault } = useNotices();
  const [checks, setChecks] = useState<Checks | null>(null);
  const [busy, setBusy] = useState(false);
  if (!may('POST /admin/v1/doctor')) return null;
  const check = async () => {
    setBusy(true);
    try {
      setChecks((await api.send<{ checks: Checks }>('POST', '/admin/v1/doctor')).checks);
    } catch (error) {
      fault(error);
    } finally {
      setBusy(false);
    }
  };
  const faults = checks?.filter(({ level }) => level !== 'well' && level !== 'skipped') ?? [];
  const warnings = faults.filter(({ level }) => level === 'warning').length;
  const counts = [
    ...(warnings === 0 ? [] : [counted(warnings, 'warning')]),
    ...(faults.length === warnings ? [] : [`${faults.length - warnings} not well`]),
  ];
  return (
    <div class="stack">
      <p class="row">
        <Button label={busy ? 'Checking …' : 'Check everything now'} disabled={busy} act={check} />
        <span class="small quiet">
          Makes one platform call, a few if the platform refuses a report, as dsp-gateway doctor does.
        </span>
      </p>
      <div role="status">
        {checks === null ? null : (
          <>
            <p>
              {checks.length} checks: {counts.join(', ') || 'all well'}.
            </p>
            <ul class="findings">
              {faults.map(({ name, level, says, do: advice }) => (
                <li key={name}>
                  <span>
                    <Tag tone={toneOfLevel(level)}>{level}</Tag> {name}: {says}
                  </span>
                  {advice === null ? null : (
                    <p>
                      <strong>To do:</strong> {advice}
                    </p>
                  )}
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </div>
  );
}
