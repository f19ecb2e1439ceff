/** The form of a team. The gateway judges what is typed; what it says of a field stands at the field. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Fault, Refused, wordsOf } from '../../ui/api.js';
import { Card, Field } from '../../ui/parts.js';
import { useAdmin } from '../admin.js';
import { AdvertiserPicker } from './advertiser-picker.js';
import { changesOf, type Draft, draftOf, newTeamOf } from './draft.js';
import { routesTwice } from './guard.js';
import { GuardFields } from './guard-fields.js';
import { linesOf } from './lines.js';
import { FORMATS, faultAt, LIMITS, SCOPES, type Team } from './team.js';

interface TeamFormProps {
  /** null for a new one. */
  readonly team: Team | null;
  readonly saved: (team: Team) => void;
  readonly leave: () => void;
}

interface PartProps {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly faults: readonly Fault[];
}

export function TeamForm({ team, saved, leave }: TeamFormProps) {
  const { api } = useAdmin();
  const [first] = useState(() => draftOf(team));
  const [draft, setDraft] = useState(first);
  const [refusal, setRefusal] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // The first field that is wrong is where to go on.
    form.current
      ?.querySelector<HTMLElement>(':is(.field:has(> .fault), .wrong) :is(input, textarea, select)')
      ?.focus();
  }, [refusal]);
  const faults = faultsOf(refusal);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const twice = routesTwice(draft.guard);
    if (twice.length > 0) return setRefusal(twice);
    setBusy(true);
    try {
      saved(
        team === null
          ? await api.send<Team>('POST', '/admin/v1/teams', newTeamOf(draft))
          : await api.send<Team>('PATCH', `/admin/v1/teams/${team.id}`, changesOf(first, draft)),
      );
    } catch (error) {
      setRefusal(error);
      setBusy(false);
    }
  };
  const parts = { draft, faults, change: (part: Partial<Draft>) => setDraft({ ...draft, ...part }) };
  return (
    <form ref={form} class="stack" noValidate onSubmit={(event) => void submit(event)}>
      <Card title="Who it is">
        <Identity {...parts} isNew={team === null} />
      </Card>
      <Card title="Advertisers it may see">
        <AdvertiserPicker {...parts} fault={faultAt(faults, 'advertisers', draft.advertisers.map(String))} />
      </Card>
      <Card title="What it may do">
        <ScopeBoxes {...parts} />
      </Card>
      <Card title="How much">
        <LimitFields {...parts} />
      </Card>
      <Card title="From where">
        <Addresses {...parts} />
      </Card>
      <Card title="What its writes may cost">
        <GuardFields guard={draft.guard} change={(guard) => parts.change({ guard })} faults={faults} />
      </Card>
      <div class="row end">
        <p class="fault" role="alert">
          {refusal === null
            ? ''
            : faults.length > 0
              ? 'Not saved: look at the fields in red.'
              : wordsOf(refusal)}
        </p>
        <button type="button" onClick={leave}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={busy}>
          {team === null ? 'Create team' : 'Save'}
        </button>
      </div>
    </form>
  );
}

/** @param refusal of the gateway, or what the form itself found */
function faultsOf(refusal: unknown): readonly Fault[] {
  if (refusal instanceof Refused) return refusal.problem.errors ?? [];
  return Array.isArray(refusal) ? (refusal as Fault[]) : [];
}

function Identity({ draft, change, faults, isNew }: PartProps & { readonly isNew: boolean }) {
  return (
    <div class="form-grid">
      <Field label="Name" help="For people. The id when left empty." fault={faultAt(faults, 'name')}>
        <input value={draft.name} onInput={({ currentTarget: { value } }) => change({ name: value })} />
      </Field>
      {isNew ? (
        <Field
          label="Id"
          help="Lower-case letters, digits and hyphens. It stays for ever."
          fault={faultAt(faults, 'id')}
        >
          <input
            value={draft.id}
            spellcheck={false}
            autocomplete="off"
            onInput={({ currentTarget: { value } }) => change({ id: value })}
          />
        </Field>
      ) : null}
      <Field
        label="Default format"
        help="Of reports where a request asks for none."
        fault={faultAt(faults, 'defaultFormat')}
      >
        <select
          value={draft.defaultFormat}
          onChange={({ currentTarget: { value } }) => change({ defaultFormat: value })}
        >
          {FORMATS.map((format) => (
            <option key={format}>{format}</option>
          ))}
        </select>
      </Field>
    </div>
  );
}

function ScopeBoxes({ draft, change, faults }: PartProps) {
  const fault = faultAt(faults, 'scopes');
  // One that another release knows stays as it is.
  const others = draft.scopes.filter((scope) => !SCOPES.some(({ value }) => value === scope));
  return (
    <fieldset class="boxes" aria-label="Scopes">
      {[...SCOPES, ...others.map((value) => ({ value, says: 'Unknown to this release.' }))].map(
        ({ value, says }) => (
          <label key={value}>
            <input
              type="checkbox"
              checked={draft.scopes.includes(value)}
              onChange={({ currentTarget: { checked } }) =>
                change({
                  scopes: [...draft.scopes.filter((one) => one !== value), ...(checked ? [value] : [])],
                })
              }
            />
            <span>
              <strong>{value}</strong>
              <span class="small quiet">{says}</span>
            </span>
          </label>
        ),
      )}
      {draft.scopes.length === 0 ? <p class="note warn">Without a scope the team may do nothing.</p> : null}
      {fault === undefined ? null : <p class="fault">{fault}</p>}
    </fieldset>
  );
}

function LimitFields({ draft, change, faults }: PartProps) {
  return (
    <div class="form-grid">
      {LIMITS.map(({ name, title, unit, usual }) => (
        <Field
          key={name}
          label={`${title} (${unit})`}
          help={`${usual} when left empty.`}
          fault={faultAt(faults, `limits.${name}`)}
        >
          <input
            type="number"
            step="any"
            placeholder={String(usual)}
            value={draft.limits[name]}
            onInput={({ currentTarget: { value } }) => change({ limits: { ...draft.limits, [name]: value } })}
          />
        </Field>
      ))}
    </div>
  );
}

function Addresses({ draft, change, faults }: PartProps) {
  return (
    <Field
      label="Addresses"
      help="One a line, such as 10.0.0.0/8 or 2001:db8::1. From anywhere when left empty."
      fault={faultAt(faults, 'ipAllow', linesOf(draft.ipAllow))}
    >
      <textarea
        rows={3}
        spellcheck={false}
        value={draft.ipAllow}
        onInput={({ currentTarget: { value } }) => change({ ipAllow: value })}
      />
    </Field>
  );
}
