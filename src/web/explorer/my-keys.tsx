/** Keys that a person with a company account makes for himself. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Column, DataTable, timeColumn } from '../ui/data-table.js';
import type { FieldSpec } from '../ui/form-values.js';
import { keyName, keyState } from '../ui/key-state.js';
import {
  expiryColumn,
  keyColumn,
  LiveKeys,
  NewKey,
  RevokeButton,
  RollButton,
  stateColumn,
} from '../ui/keys.js';
import { useNotices } from '../ui/notices.js';
import { Card, Name, Wait } from '../ui/parts.js';
import { FormButton } from '../ui/schema-form.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { BY_ENVIRONMENT } from './code.js';
import { useTeam } from './team.js';

type Keys = AnswerTo<'GET /gateway/v1/keys'>;
type Key = Keys['keys'][number];
type Issued = AnswerTo<'POST /admin/v1/teams/:id/keys'>;
type Changed = Readonly<{ changed: () => void }>;

const PATH = '/gateway/v1/keys';

export function MyKeys() {
  const keys = useGet<Keys>(PATH, 30_000);
  const { value, reload } = keys;
  const days = value?.limits.keysNeedSignInDays;
  const lead = days && `For notebooks and tools. They work for ${days} days after your last sign-in here.`;
  return (
    <View title="My keys" lead={lead || undefined}>
      <Wait of={keys}>
        {(known) => (
          <Card title={titleOf(known)} tools={<MakeButton {...known} changed={reload} />}>
            <LiveKeys keys={known.keys}>{(shown) => <KeyTable keys={shown} changed={reload} />}</LiveKeys>
          </Card>
        )}
      </Wait>
    </View>
  );
}

function titleOf({ keys, limits }: Keys): string {
  const valid = keys.filter((key) => keyState(key, Date.now()) === 'valid').length;
  return `${valid} of ${limits.keysPerPerson} keys`;
}

function MakeButton({ limits: { maxKeyDays }, scopes, changed }: Pick<Keys, 'limits' | 'scopes'> & Changed) {
  const { api, session } = useTeam();
  const { show } = useNotices();
  const fields: readonly FieldSpec[] = [
    { name: 'label', label: 'Label', help: 'The notebook or tool that uses the key.', maxLength: 200 },
    {
      name: 'expiresInDays',
      label: 'Days until it expires',
      is: 'number',
      help: `1 to ${maxKeyDays}; ${maxKeyDays} if empty.`,
    },
  ];
  const send = async (body: { label?: string }) => {
    const issued = await api.send<Issued>('POST', PATH, body);
    show(<Shown name={keyName({ label: '', ...issued, ...body })} secret={issued.key} />);
    changed();
  };
  const team = session.team?.name ?? '';
  return (
    <FormButton label="Make a key" title={`Make a key for ${team}`} look="primary" {...{ fields, send }}>
      <p>
        {scopes.length === 0
          ? 'It would have no scopes, as the team has none of those that keys of people may have.'
          : `Its scopes: ${scopes.join(', ')}. Its requests count on the limits of the team.`}
      </p>
    </FormButton>
  );
}

function Shown({ name, secret }: { readonly name: string; readonly secret: string }) {
  return (
    <NewKey name={name} secret={secret} place="Copy it to where your tool keeps its secrets.">
      <pre>
        <code>{`curl --header "x-api-key: $DSP_GATEWAY_KEY" \\\n  ${location.origin}/gateway/v1/me\n`}</code>
      </pre>
      <p class="small quiet">{BY_ENVIRONMENT} The panel “As code” of a report has more examples.</p>
    </NewKey>
  );
}

const STATE = stateColumn({
  'long-ago': 'sign in again',
  'not-allowed': 'no longer allowed',
  'team-disabled': 'team disabled',
});

function KeyTable({ keys, changed }: Pick<Keys, 'keys'> & Changed) {
  const { person } = useTeam().session;
  const nameOf = (id: string) => person?.teams.find((team) => team.id === id)?.name ?? id;
  const columns: readonly Column<Key>[] = [
    keyColumn(),
    {
      title: 'Team',
      by: ({ teamId }) => nameOf(teamId),
      cell: ({ teamId }) => <Name>{nameOf(teamId)}</Name>,
    },
    { title: 'Scopes', cell: ({ scopes = [] }) => scopes.join(', ') || 'none' },
    STATE,
    timeColumn('Last use', ({ lastUsedAt }) => lastUsedAt, 'never'),
    expiryColumn,
    {
      title: 'Actions',
      cell: (key) => keyState(key, Date.now()) === 'valid' && <KeyTools of={key} changed={changed} />,
    },
  ];
  return (
    <DataTable
      caption="Your keys"
      columns={columns}
      rows={keys}
      keyOf={({ id }) => id}
      empty="You have no valid key. Make one for a notebook or a tool of your own."
    />
  );
}

function KeyTools({ of, changed }: Changed & { readonly of: Key }) {
  const { api } = useTeam();
  const { show } = useNotices();
  const name = keyName(of);
  const roll = async (body: object) => {
    const { key } = await api.send<Issued>('POST', `${PATH}/${of.id}/roll`, body);
    show(<Shown name={name} secret={key} />);
    changed();
  };
  const revoke = () => api.send('DELETE', `${PATH}/${of.id}`);
  return (
    <span class="tools">
      {of.refused === null ? <RollButton name={name} send={roll} /> : null}
      <RevokeButton {...{ name, changed }} prefix={of.prefix} send={revoke} />
    </span>
  );
}
