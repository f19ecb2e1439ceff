import { useState } from 'preact/hooks';
import type { Fault } from '../../ui/api.js';
import { Box, FieldGrid, Fields } from '../../ui/fields.js';
import { faultAt } from '../../ui/form-values.js';
import { Card } from '../../ui/parts.js';
import { SchemaForm } from '../../ui/schema-form.js';
import { SCOPES } from '../../ui/scopes.js';
import { useAdmin } from '../admin.js';
import { AdvertiserPicker } from './advertiser-picker.js';
import { ADDRESSES, changesOf, type Draft, draftOf, IDENTITY, LIMIT_FIELDS, newTeamOf } from './draft.js';
import { routesTwice } from './guard.js';
import { GuardForm } from './guard-form.js';
import type { Team } from './team.js';

interface TeamFormProps {
  /** null for a new one. */
  readonly team: Team | null;
  readonly saved: (team: Team) => void;
  readonly leave: () => void;
}

export function TeamForm({ team, saved, leave }: TeamFormProps) {
  const { api } = useAdmin();
  const [first] = useState(() => draftOf(team));
  const send = async (values: object) => {
    const draft = values as Draft;
    saved(
      team === null
        ? await api.send<Team>('POST', '/admin/v1/teams', newTeamOf(draft))
        : await api.send<Team>('PATCH', `/admin/v1/teams/${team.id}`, changesOf(first, draft)),
    );
  };
  const identity = IDENTITY.filter(({ name }) => team === null || name !== 'id');
  return (
    <SchemaForm
      start={first}
      submit={team === null ? 'Create team' : 'Save'}
      leave={leave}
      check={({ guard }) => routesTwice((guard as Draft['guard']) ?? 'none')}
      send={send}
      wrong="Not saved: correct the fields in red."
    >
      {(form) => {
        const draft = form.values as Draft;
        const { faults, set } = form;
        return (
          <>
            <Card title="Identity">
              <FieldGrid fields={identity} {...form} />
            </Card>
            <Card title="Advertisers">
              <AdvertiserPicker
                draft={draft}
                change={set}
                fault={faultAt(faults, 'advertisers', draft.advertisers.map(String))}
              />
            </Card>
            <Card title="Scopes">
              <ScopeBoxes scopes={draft.scopes} change={(scopes) => set({ scopes })} faults={faults} />
            </Card>
            <Card title="Limits">
              <FieldGrid fields={LIMIT_FIELDS} {...form} />
            </Card>
            <Card title="Allowed addresses">
              <Fields fields={ADDRESSES} {...form} />
            </Card>
            <Card title="Write guard">
              <GuardForm guard={draft.guard} change={(guard) => set({ guard })} faults={faults} />
            </Card>
          </>
        );
      }}
    </SchemaForm>
  );
}

interface ScopeBoxesProps {
  readonly scopes: readonly string[];
  readonly change: (scopes: readonly string[]) => void;
  readonly faults: readonly Fault[];
}

function ScopeBoxes({ scopes, change, faults }: ScopeBoxesProps) {
  const fault = faultAt(faults, 'scopes');
  // Scopes of other releases stay.
  const others = scopes.filter((scope) => !SCOPES.some(({ value }) => value === scope));
  const all = [...SCOPES, ...others.map((value) => ({ value, says: 'Unknown in this release.' }))];
  return (
    <fieldset class="boxes" aria-label="Scopes">
      {all.map(({ value, says }) => (
        <Box
          key={value}
          title={value}
          says={says}
          checked={scopes.includes(value)}
          choose={(on) => change([...scopes.filter((one) => one !== value), ...(on ? [value] : [])])}
        />
      ))}
      {scopes.length === 0 ? <p class="note warn">Without scopes the team cannot do anything.</p> : null}
      {fault === undefined ? null : <p class="fault">{fault}</p>}
    </fieldset>
  );
}
