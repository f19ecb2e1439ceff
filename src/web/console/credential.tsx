/** The platform's credential: lifetime, history, and the steps of a rotation. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type AuditEntry, proofOf } from '../../api/operations/audit-sentence.js';
import type { AnswerTo } from '../../api/operations/table.js';
import { failureOf } from '../../lib/words.js';
import { Refused, wordsOf } from '../ui/api.js';
import { ConfirmButton } from '../ui/dialog.js';
import { bodyOf, type Values } from '../ui/form-values.js';
import { moment } from '../ui/format.js';
import { useNotices } from '../ui/notices.js';
import { Button, Card, Empty, Wait } from '../ui/parts.js';
import { SchemaForm } from '../ui/schema-form.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { useAdmin } from './admin.js';
import type { FieldsOf } from './fields-of.js';
import { allHold, type Holder, Holders, TokenLine, type Tokens, Tries } from './tokens.js';

const LIVE_MS = 10_000;

export function Credential() {
  const tokens = useGet<Tokens>('/admin/v1/token', LIVE_MS);
  const tries = useGet<{ entries: AuditEntry[] }>('/admin/v1/audit?action=token&limit=50', LIVE_MS);
  const status = useGet<{ processes: Holder[] }>('/admin/v1/status', LIVE_MS);
  return (
    <View
      title="Credential"
      lead="The platform token in use. Tokens are never shown; fingerprint and id identify each."
    >
      <Wait of={tokens}>
        {(value) => (
          <>
            <TokenLine tokens={value} nowMs={Date.now()} />
            <Rotation
              tokens={value}
              entries={tries.value?.entries ?? []}
              processes={status.value?.processes ?? []}
              refresh={() => {
                for (const one of [tokens, tries, status]) one.reload();
              }}
            />
          </>
        )}
      </Wait>
      <Wait of={tries}>{({ entries }) => <Tries entries={entries} />}</Wait>
    </View>
  );
}

interface RotationProps {
  readonly tokens: Tokens;
  /** Audit entries of tokens, newest first. */
  readonly entries: readonly AuditEntry[];
  readonly processes: readonly Holder[];
  readonly refresh: () => void;
}

/** Takes a step; an error is shown at the step. */
type Take = (step: string, body?: object) => Promise<boolean>;

/** Of the steps, this one may warn. */
type RolledBack = Pick<AnswerTo<'POST /admin/v1/token/rollback'>, 'warning'>;

/** Notices of success by step. */
const DONE: Readonly<Record<string, string>> = {
  stage: 'The token is pending. Next: verify it.',
  mint: 'The platform issued a token; it is pending. Next: verify it.',
  verify: 'The token is verified.',
  activate: 'The new token is active.',
  rollback: 'The previous token is active again.',
  discard: 'The pending token is discarded.',
};

function Rotation({ tokens, entries, processes, refresh }: RotationProps) {
  const { api, may } = useAdmin();
  const { done, clear } = useNotices();
  const [fault, setFault] = useState<{ readonly step: string; readonly words: string } | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  if (!may('POST /admin/v1/token/stage'))
    return (
      <Card title="New token">
        <Empty>Rotating the token requires the role owner.</Empty>
      </Card>
    );
  const take: Take = async (step, body = {}) => {
    setBusy(step);
    setFault(null);
    clear();
    try {
      const { warning } = await api.send<RolledBack>('POST', `/admin/v1/token/${step}`, body);
      done([DONE[step] ?? 'Done.', warning ?? ''].join(' ').trim());
      return true;
    } catch (error) {
      setFault({ step, words: isNoToken(error) ? NO_TOKEN : wordsOf(error) });
      return false;
    } finally {
      setBusy(null);
      refresh();
    }
  };
  const faultOf = (...steps: string[]) => (fault !== null && steps.includes(fault.step) ? fault.words : null);
  const { pending, active } = tokens;
  const holders = { processes, activeId: active?.id ?? null };
  // Without a rotation nothing is done or due.
  const switching = active !== null && processes.length > 0 && !allHold(holders);
  const isRunning = pending !== null || switching;
  const props = { tokens, take, busy };
  return (
    <Card title="Rotation">
      <p class="quiet">
        {isRunning
          ? 'A rotation runs: go on with the step in blue.'
          : 'No rotation runs. A new token begins one.'}
      </p>
      <ol class="steps">
        <Step
          title="New token"
          mark={pending === null ? 'quiet' : 'good'}
          number={1}
          fault={faultOf('stage', 'mint', 'discard')}
        >
          {pending === null ? <NewTokenForm {...props} /> : <Staged {...props} token={pending} />}
        </Step>
        <ProofStep {...props} entries={entries} fault={faultOf('verify')} />
        <ActivateStep {...props} fault={faultOf('activate')} />
        <Step title="All processes switch" mark={switching ? 'now' : 'quiet'} number={4}>
          <Holders {...holders} />
        </Step>
        <Step title="Undo" mark="quiet" number={5} fault={faultOf('rollback')}>
          <Undo {...props} fault={faultOf('rollback')} />
        </Step>
      </ol>
    </Card>
  );
}

const NO_TOKEN =
  "This is no token: it has a space, a line break or a letter that tokens do not have. Copy it whole from the platform's dashboard.";

const isNoToken = (error: unknown): boolean =>
  error instanceof Refused && error.problem.errors?.[0]?.param === 'token';

interface StepProps {
  readonly title: string;
  readonly number: number;
  /** Done, current, later, failed. */
  readonly mark: 'good' | 'now' | 'quiet' | 'bad';
  readonly fault?: string | null;
  readonly children: ComponentChildren;
}

const CALLING = 'Calling the platform …';
const SIGNS = { good: '✓', bad: '!', now: null, quiet: null } as const;

function Step({ title, number, mark, fault = null, children }: StepProps) {
  const shown = fault === null ? mark : 'bad';
  return (
    <li>
      <span class={`step-mark small ${shown}`} aria-hidden="true">
        {SIGNS[shown] ?? number}
      </span>
      <h3>{title}</h3>
      <div class="stack">
        {children}
        <div role="alert">{fault === null ? null : <p class="note bad">{fault}</p>}</div>
      </div>
    </li>
  );
}

interface PartProps {
  readonly tokens: Tokens;
  readonly take: Take;
  /** The running step. */
  readonly busy: string | null;
}

type FaultProps = PartProps & { readonly fault: string | null };

const Staged = ({ token, take, busy }: PartProps & { token: NonNullable<Tokens['pending']> }) => (
  <p>
    <code>{token.fingerprint}</code> is pending since {moment(token.createdAt)}.{' '}
    <ConfirmButton
      label="Discard"
      disabled={busy !== null}
      question="The pending token is discarded. The active one stays in use."
      act={() => take('discard')}
    />
  </p>
);

function ProofStep({ tokens, entries, take, busy, fault }: FaultProps & Pick<RotationProps, 'entries'>) {
  const { pending } = tokens;
  const tried = entries.find(({ action, subject }) => action === 'token.verify' && subject === pending?.id);
  const failure = failureOf(tried?.after);
  const isProven = pending !== null && pending.verifiedAt !== null;
  const mark = isProven ? 'good' : pending === null ? 'quiet' : failure === null ? 'now' : 'bad';
  const label = busy === 'verify' ? CALLING : failure === null ? 'Verify' : 'Verify again';
  return (
    <Step title="Verify" mark={mark} number={2} fault={fault}>
      {pending === null ? (
        <p class="quiet">Makes a call with the new token, and compares final reports with both tokens.</p>
      ) : null}
      {isProven ? (
        <p>
          Verified {moment(pending.verifiedAt ?? '')}. <Proof of={tried?.after} />
        </p>
      ) : null}
      {failure === null || fault !== null ? null : <p class="note bad">{failure}</p>}
      {pending === null || isProven ? null : (
        <p class="row">
          <Button label={label} class="primary" disabled={busy !== null} act={() => take('verify')} />
        </p>
      )}
    </Step>
  );
}

/** @param of `after` of an audit entry */
function Proof({ of }: { readonly of: unknown }) {
  const proof = proofOf(of);
  if (proof === null) return null;
  const { call, reason, reportsCompared: reports } = proof;
  const shows = reports === 1 ? 'One final report has' : `${reports} final reports have`;
  return (
    <>
      {call === null ? null : (
        <>
          Asked <code>{call}</code>:{' '}
        </>
      )}
      {reason}.{' '}
      {reports === 0
        ? 'There was no final report to compare.'
        : `${shows} at least as many rows as when they were fetched before.`}
    </>
  );
}

function ActivateStep({ tokens: { pending, active }, take, busy, fault }: FaultProps) {
  const isProven = pending !== null && pending.verifiedAt !== null;
  return (
    <Step title="Activate" mark={isProven ? 'now' : 'quiet'} number={3} fault={fault}>
      {pending === null ? (
        <p class="quiet">
          {active === null ? 'No token is active.' : `Active: ${active.fingerprint}.`} Running calls finish
          with their token; no request fails.
        </p>
      ) : (
        <p class="row">
          {isProven ? (
            <Button
              label="Activate the token"
              class="primary"
              disabled={busy !== null}
              act={() => take('activate')}
            />
          ) : (
            <ConfirmButton
              label="Activate without verification"
              grave
              disabled={busy !== null}
              question="This token is not verified. If the platform rejects it, the gateway rolls back automatically if it can; callers may see errors until then."
              act={() => take('activate', { force: true })}
            />
          )}
        </p>
      )}
    </Step>
  );
}

function Undo({ tokens: { previous, active }, take, busy, fault }: FaultProps) {
  if (previous === null || active === null)
    return (
      <p class="quiet">After a rotation the previous token stays here until it expires, for a rollback.</p>
    );
  const isForced = previous.refusedAt !== null || fault !== null;
  return (
    <p class="row">
      <span class="quiet">
        Swaps the two tokens: <code>{previous.fingerprint}</code> becomes active,{' '}
        <code>{active.fingerprint}</code> previous, if the platform accepts the first.
      </span>
      <ConfirmButton
        label={
          previous.refusedAt !== null
            ? 'Roll back to a token that was refused'
            : isForced
              ? 'Roll back without verification'
              : 'Roll back to the previous token'
        }
        grave={isForced}
        disabled={busy !== null}
        question={
          <p>
            <code>{previous.fingerprint}</code> becomes the active one again, and{' '}
            <code>{active.fingerprint}</code> the previous one. Requests go on meanwhile.
            {previous.refusedAt === null ? null : (
              <strong>
                {' '}
                The platform refused <code>{previous.fingerprint}</code> at {moment(previous.refusedAt)}:
                until it accepts it, only cached reports are served.
              </strong>
            )}
          </p>
        }
        act={() => take('rollback', isForced ? { force: true } : {})}
      />
    </p>
  );
}

const TOKEN: FieldsOf<'POST /admin/v1/token/stage'> = [
  {
    name: 'token',
    label: 'Token',
    is: 'password',
    required: true,
    help: "Copied from the platform's dashboard, whole.",
  },
  {
    name: 'expiresAt',
    label: 'Expires on',
    is: 'date',
    help: 'Default: a year from now, as the platform promises.',
  },
];

function NewTokenForm({ tokens, take, busy }: PartProps) {
  const stage = async (values: Values, set: (part: Values) => void) => {
    // A secret must not stay in the page, even after a failure.
    set({ token: '' });
    if (await take('stage', bodyOf(TOKEN, values))) set({ expiresAt: '' });
  };
  const label = busy === 'mint' ? CALLING : 'Mint a token at the platform';
  return (
    <SchemaForm
      label="New token"
      fields={TOKEN}
      submit="Stage the token"
      disabled={busy !== null}
      send={stage}
      buttons={
        tokens.canMint ? (
          <Button label={label} disabled={busy !== null} act={() => take('mint')} />
        ) : (
          <span class="small quiet">
            To mint one here, set <code>PLATFORM_USERNAME</code> and the rest of the token request.
          </span>
        )
      }
    />
  );
}
