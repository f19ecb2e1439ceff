/** The team as which a person with a company account acts: one of several, at a time. */
import { useState } from 'preact/hooks';
import { Field, Select, SelectLine } from '../ui/fields.js';
import { useNotices } from '../ui/notices.js';
import { Button, Empty } from '../ui/parts.js';
import { go, hrefOf } from '../ui/route.js';
import { View } from '../ui/shell.js';
import { type TeamSession, useTeam } from './team.js';

export type Person = NonNullable<TeamSession['person']>;
type Choose = (team: string) => void;

/** @returns busy: between two teams, nothing of either is shown */
export function useChoice(): { readonly busy: boolean; readonly choose: Choose } {
  const { api, refresh, session } = useTeam();
  const { fault } = useNotices();
  const [busy, setBusy] = useState(false);
  const choose = async (team: string) => {
    setBusy(true);
    try {
      await api.send('PUT', '/gateway/v1/session/team', { team });
      // A link that was opened stays for the first choice; a question of one team is none of the next.
      if (session.team !== null) go(hrefOf([]), true);
      await refresh();
    } catch (error) {
      fault(error);
    }
    setBusy(false);
  };
  return { busy, choose: (team) => void choose(team) };
}

const optionsOf = ({ teams }: Person) => teams.map(({ id, name }) => [id, name] as const);

interface ChoiceProps {
  readonly person: Person;
  readonly choose: Choose;
}

export function ChooseTeam({ person, choose }: ChoiceProps) {
  const [team, setTeam] = useState(person.teams[0]?.id ?? '');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    choose(team);
  };
  return (
    <View title="Choose a team" lead="Reports, limits and pins are those of one team at a time.">
      {person.teams.length === 0 ? (
        <Empty>None of the teams of this account exists. Ask your operator.</Empty>
      ) : (
        <form class="card stack" onSubmit={submit}>
          <Field label="Team">
            <Select options={optionsOf(person)} value={team} choose={setTeam} />
          </Field>
          <div class="row">
            <Button label="Open" class="primary" />
          </div>
        </form>
      )}
    </View>
  );
}

export const SwitchTeam = ({ person, choose }: ChoiceProps) => (
  <SelectLine label="Team" options={optionsOf(person)} value={person.chosen ?? ''} choose={choose} />
);
