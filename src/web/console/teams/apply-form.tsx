/** Applies a file of teams, after showing its changes. */
import { useState } from 'preact/hooks';
import type { AnswerTo } from '../../../api/operations/table.js';
import { Refused, wordsOf } from '../../ui/api.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { Field, Fields } from '../../ui/fields.js';
import type { FieldSpec, Values } from '../../ui/form-values.js';
import { counted } from '../../ui/format.js';
import { useNotices } from '../../ui/notices.js';
import { Card, Tag, type Tone } from '../../ui/parts.js';
import { go, hrefOf } from '../../ui/route.js';
import { SchemaForm } from '../../ui/schema-form.js';
import { View } from '../../ui/shell.js';
import { useAdmin } from '../admin.js';
import { ChangeList } from '../audit.js';

export const APPLY = 'POST /admin/v1/teams/apply';
const PATH = '/admin/v1/teams/apply';

type TeamChange = AnswerTo<'POST /admin/v1/teams/apply'>['changes'][number];

const ACTIONS: Readonly<Record<TeamChange['action'], { readonly title: string; readonly tone: Tone }>> = {
  create: { title: 'created', tone: 'good' },
  update: { title: 'changed', tone: 'info' },
  release: { title: 'released, managed by hand', tone: 'warn' },
  delete: { title: 'deleted, keys revoked permanently', tone: 'bad' },
  keep: { title: 'kept, but not in the file', tone: 'quiet' },
  none: { title: 'unchanged', tone: 'quiet' },
};

const REMOVED = ['keep', 'release', 'delete'] as const;

type Looked = Readonly<{ body: object; changes: readonly TeamChange[]; applied: boolean }>;

const FIELDS: readonly FieldSpec[] = [
  {
    name: 'text',
    label: 'Or paste its content',
    is: 'lines',
    rows: 10,
    required: true,
    placeholder: 'teams:\n  - id: growth\n    advertisers: [1, 2]',
  },
  {
    name: 'removed',
    label: 'Teams no longer in the file are',
    options: REMOVED.map((action) => [action, ACTIONS[action].title] as const),
  },
];

export function ApplyForm() {
  const { api } = useAdmin();
  const { act } = useNotices();
  const [looked, setLooked] = useState<Looked | null>(null);
  const [faults, setFaults] = useState<readonly string[]>([]);
  const send = async (body: object) => (await api.send<Pick<Looked, 'changes'>>('POST', PATH, body)).changes;
  // Changes of another file or option.
  const forget = () => {
    setLooked(null);
    setFaults([]);
  };
  const look = async ({ text, removed }: Values) => {
    forget();
    try {
      const body = { ...(await declaredIn(String(text))), removed };
      setLooked({ body, changes: await send({ ...body, dryRun: true }), applied: false });
    } catch (error) {
      setFaults(faultsOf(error));
    }
  };
  const apply = ({ body }: Looked) =>
    act(
      async () => setLooked({ body, changes: await send({ ...body, dryRun: false }), applied: true }),
      'Applied. All replicas follow within a second.',
    );
  return (
    <View
      title="Apply a file of teams"
      lead="Creates, changes and removes teams as the file declares. You see the changes before they are applied."
    >
      <Card>
        <SchemaForm
          start={{ text: '', removed: 'keep' }}
          submit="Show changes"
          look=""
          send={look}
          changed={forget}
          leave={() => go(hrefOf(['teams']))}
        >
          {(form) => (
            <>
              <Field label="File" help="YAML or JSON, as for dsp-gateway apply.">
                <input
                  type="file"
                  accept=".yaml,.yml,.json"
                  onChange={({ currentTarget: { files } }) =>
                    void files?.[0]?.text().then((text) => form.set({ text }))
                  }
                />
              </Field>
              <Fields fields={FIELDS} {...form} />
              <div role="alert">
                {faults.map((fault) => (
                  <p key={fault} class="fault">
                    {fault}
                  </p>
                ))}
              </div>
            </>
          )}
        </SchemaForm>
      </Card>
      {looked === null ? null : <Difference looked={looked} apply={() => apply(looked)} />}
    </View>
  );
}

/** Loads the YAML parser when needed. @throws YAMLParseError */
async function declaredIn(text: string): Promise<object> {
  const { parse } = await import('yaml');
  const value: unknown = parse(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { teams: value };
}

function faultsOf(error: unknown): readonly string[] {
  if (error instanceof Refused && error.problem.errors !== undefined)
    return error.problem.errors.map(({ param, message }) => `${param} ${message}`);
  // The other lines quote the text.
  if (error instanceof Error && error.name === 'YAMLParseError')
    return [`Invalid YAML: ${error.message.split('\n')[0]}`];
  return [wordsOf(error)];
}

function Difference({ looked: { changes, applied }, apply }: { looked: Looked; apply: () => unknown }) {
  const shown = changes.filter(({ action }) => action !== 'none');
  const words = wordsFor(changes);
  const isWritten = shown.some(({ action }) => action !== 'keep');
  return (
    <Card title={applied ? 'Changes made' : 'Planned changes'}>
      <p role="status">{words}</p>
      <ul class="audit">
        {shown.map(({ id, action, before, after }) => (
          <li key={id} class="stack">
            <p>
              <strong>{id}</strong> <Tag tone={ACTIONS[action].tone}>{ACTIONS[action].title}</Tag>
            </p>
            {action === 'create' || action === 'update' ? <ChangeList before={before} after={after} /> : null}
          </li>
        ))}
      </ul>
      {applied || !isWritten ? null : (
        <div class="row end">
          <ConfirmButton
            label="Apply"
            grave={shown.some(({ action }) => action === 'delete')}
            question={<p>{words}</p>}
            act={apply}
          />
        </div>
      )}
    </Card>
  );
}

function wordsFor(changes: readonly TeamChange[]): string {
  const parts = Object.entries(ACTIONS).flatMap(([action, { title }]) => {
    const count = changes.filter((change) => change.action === action).length;
    return count === 0 ? [] : [`${counted(count, 'team')} ${title}`];
  });
  return parts.length === 0 ? 'The file declares no teams.' : `${parts.join('; ')}.`;
}
