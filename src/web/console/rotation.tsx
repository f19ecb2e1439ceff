/** A rotation as steps: a token comes in, is proven, becomes the active one, takes hold everywhere; and the way back. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { wordsOf } from '../ui/api.js';
import { ConfirmButton } from '../ui/dialog.js';
import { moment } from '../ui/format.js';
import { useNotices } from '../ui/notices.js';
import { Card, Empty } from '../ui/parts.js';
import { useAdmin } from './admin.js';
import type { AuditEntry } from './audit-sentence.js';
import { allHold, Holders } from './holders.js';
import { NewTokenForm } from './new-token-form.js';
import { failureOf, type Holder, proofOf, type Tokens } from './token-types.js';

export interface RotationProps {
  readonly tokens: Tokens;
  /** What was done with tokens, newest first. */
  readonly entries: readonly AuditEntry[];
  readonly processes: readonly Holder[];
  readonly refresh: () => void;
}

/** Takes a step; what hinders it is shown at the step. */
export type Take = (step: string, body?: object) => Promise<boolean>;

export function Rotation({ tokens, entries, processes, refresh }: RotationProps) {
  const { api, may } = useAdmin();
  const { done, clear } = useNotices();
  const [fault, setFault] = useState<{ readonly step: string; readonly words: string } | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  if (!may('POST /admin/v1/token/stage'))
    return (
      <Card title="A new token">
        <Empty>Rotating the token takes the role owner.</Empty>
      </Card>
    );
  const take: Take = async (step, body = {}) => {
    setBusy(step);
    setFault(null);
    // What is said of the step before is over.
    clear();
    try {
      await api.send('POST', `/admin/v1/token/${step}`, body);
      done(WORDS[step] ?? 'Done.');
      return true;
    } catch (error) {
      setFault({ step, words: wordsOf(error) });
      return false;
    } finally {
      setBusy(null);
      refresh();
    }
  };
  const faultOf = (...steps: string[]) => (fault !== null && steps.includes(fault.step) ? fault.words : null);
  const { pending, active, previous } = tokens;
  const holders = { processes, activeId: active?.id ?? null };
  return (
    <Card title="Rotate, step by step">
      <ol class="steps">
        <Step
          title="A new token"
          mark={pending === null ? 'now' : 'done'}
          number={1}
          fault={faultOf('stage', 'mint', 'discard')}
        >
          {pending === null ? (
            <NewTokenForm take={take} busy={busy} />
          ) : (
            <p>
              <code>{pending.fingerprint}</code> is staged beside the active one since{' '}
              {moment(pending.createdAt)}.{' '}
              <ConfirmButton
                label="Discard"
                disabled={busy !== null}
                question="The pending token is forgotten. The active one stays as it is."
                act={() => take('discard')}
              />
            </p>
          )}
        </Step>
        <ProofStep tokens={tokens} entries={entries} take={take} busy={busy} fault={faultOf('verify')} />
        <ActivateStep tokens={tokens} take={take} busy={busy} fault={faultOf('activate')} />
        <Step
          title="Every process takes hold"
          mark={allHold(holders) ? 'done' : 'now'}
          number={4}
          fault={null}
        >
          <Holders {...holders} />
        </Step>
        <Step title="Undo" mark="open" number={5} fault={faultOf('rollback')}>
          {previous === null || active === null ? (
            <p class="quiet">After a rotation the token before it stays here until it ends, to go back to.</p>
          ) : (
            <p class="row">
              <ConfirmButton
                label="Go back to the previous token"
                disabled={busy !== null}
                question={
                  <p>
                    <code>{previous.fingerprint}</code> becomes the active one again, and{' '}
                    <code>{active.fingerprint}</code> the previous one. Requests go on meanwhile.
                  </p>
                }
                act={() => take('rollback')}
              />
            </p>
          )}
        </Step>
      </ol>
    </Card>
  );
}

const WORDS: Readonly<Record<string, string>> = {
  stage: 'The token is staged beside the active one. Next: the proof.',
  mint: 'The platform gave a token; it is staged beside the active one. Next: the proof.',
  verify: 'The token is proven.',
  activate: 'The new token is active.',
  rollback: 'The previous token is active again.',
  discard: 'The pending token is forgotten.',
};

interface StepProps {
  readonly title: string;
  readonly number: number;
  readonly mark: 'done' | 'now' | 'open' | 'failed';
  readonly fault: string | null;
  readonly children: ComponentChildren;
}

const MARKS = { done: '✓', failed: '!', now: null, open: null } as const;

function Step({ title, number, mark, fault, children }: StepProps) {
  const shown = fault === null ? mark : 'failed';
  return (
    <li>
      <span class={`step-mark ${shown}`} aria-hidden="true">
        {MARKS[shown] ?? number}
      </span>
      <h3>{title}</h3>
      <div class="stack">
        {children}
        <div role="alert">{fault === null ? null : <p class="note bad">{fault}</p>}</div>
      </div>
    </li>
  );
}

type PartProps = Pick<RotationProps, 'tokens'> & {
  readonly take: Take;
  readonly busy: string | null;
  readonly fault: string | null;
};

function ProofStep({
  tokens: { pending },
  entries,
  take,
  busy,
  fault,
}: PartProps & Pick<RotationProps, 'entries'>) {
  const tried =
    pending === null
      ? undefined
      : entries.find(({ action, subject }) => action === 'token.verify' && subject === pending.id);
  const failure = failureOf(tried?.after);
  const mark =
    pending === null ? 'open' : pending.verifiedAt !== null ? 'done' : failure === null ? 'now' : 'failed';
  const proof = proofOf(tried?.after);
  return (
    <Step title="Proof" mark={mark} number={2} fault={fault}>
      {pending === null ? (
        <p class="quiet">
          A call with the new token, and the same final reports with both: it must see what the active one
          sees.
        </p>
      ) : null}
      {pending !== null && pending.verifiedAt !== null ? (
        <p>
          Proven {moment(pending.verifiedAt)}.{' '}
          {proof === null ? null : (
            <>
              {proof.call === null ? null : (
                <>
                  Asked <code>{proof.call}</code>:{' '}
                </>
              )}
              {proof.reason}. {comparedWords(proof.reportsCompared)}
            </>
          )}
        </p>
      ) : null}
      {failure === null || fault !== null ? null : <p class="note bad">{failure}</p>}
      {pending === null || pending.verifiedAt !== null ? null : (
        <p class="row">
          <button type="button" class="primary" disabled={busy !== null} onClick={() => void take('verify')}>
            {busy === 'verify' ? 'Asking the platform …' : failure === null ? 'Prove it' : 'Prove it again'}
          </button>
        </p>
      )}
    </Step>
  );
}

function comparedWords(reports: number): string {
  if (reports === 0) return 'There was no final report to compare yet.';
  return `${reports === 1 ? 'One final report shows' : `${reports} final reports show`} as many rows as with the active token.`;
}

function ActivateStep({ tokens: { pending, active }, take, busy, fault }: PartProps) {
  const isProven = pending !== null && pending.verifiedAt !== null;
  return (
    <Step title="Activate" mark={isProven ? 'now' : 'open'} number={3} fault={fault}>
      {pending === null ? (
        <p class="quiet">
          {active === null ? 'No token is active.' : `Active since its rotation: ${active.fingerprint}.`}{' '}
          Calls under way end with the token they began with; no request fails.
        </p>
      ) : isProven ? (
        <p class="row">
          <button
            type="button"
            class="primary"
            disabled={busy !== null}
            onClick={() => void take('activate')}
          >
            Make it the active token
          </button>
        </p>
      ) : (
        <p class="row">
          <ConfirmButton
            label="Activate unproven"
            grave
            disabled={busy !== null}
            question="Nothing has proven this token. If the platform refuses it, the gateway goes back to the previous one by itself where it can, and callers may see errors until then."
            act={() => take('activate', { force: true })}
          />
        </p>
      )}
    </Step>
  );
}
