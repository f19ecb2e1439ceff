/** The form of a query. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { FieldGrid } from '../ui/fields.js';
import type { FieldSpec } from '../ui/form-values.js';
import { Button } from '../ui/parts.js';
import { titleOf } from './columns.js';
import type { Endpoint } from './endpoints.js';
import { faultOf, PERIODS, type Question } from './question.js';
import type { Advertiser } from './team.js';

interface FormProps {
  readonly question: Question;
  readonly endpoints: readonly Endpoint[];
  readonly advertisers: readonly Advertiser[];
  readonly ask: (question: Question) => void;
  /** Why the last submitted question cannot be asked. */
  readonly fault: string | null;
  readonly setFault: (fault: string | null) => void;
}

export function ReportForm({ question, endpoints, advertisers, ask, fault, setFault }: FormProps) {
  const [draft, setDraft] = useState(question);
  // The address has changed. A layout effect, as a later one would lose typed text.
  const place = JSON.stringify(question);
  useLayoutEffect(() => {
    setDraft(question);
    setFault(null);
  }, [place]);
  const change = (part: Partial<Question>) => {
    const { advertiserId } = part;
    const id = advertiserId === undefined ? {} : { advertiserId: idIn(advertiserId, advertisers) };
    setDraft((was) => ({ ...was, ...part, ...id }));
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const found = faultOf(draft);
    setFault(found);
    if (found === null) ask(draft);
  };
  const endpoint = endpoints.find(({ name }) => name === draft.endpoint);
  return (
    <form class="card" aria-label="Report" onSubmit={submit}>
      <FieldGrid fields={fieldsOf(draft, endpoints, advertisers)} values={{ ...draft }} set={change} />
      <div class="toolbar">
        <Splits draft={draft} change={change} names={endpoint?.splits ?? draft.splits} />
        <Button label="Show the report" class="primary" />
      </div>
      <p class="fault" role="alert">
        {fault}
      </p>
    </form>
  );
}

/** @returns the id of a completely typed name; any other text is unchanged */
function idIn(text: string, advertisers: readonly Advertiser[]): string {
  const typed = text.trim();
  const found = advertisers.filter(({ name }) => name?.toLowerCase() === typed.toLowerCase());
  return found.length === 1 && found[0] !== undefined ? String(found[0].id) : typed;
}

const OWN_DAYS: readonly FieldSpec[] = [
  { name: 'dateFrom', label: 'First day', is: 'date', required: true },
  { name: 'dateTo', label: 'Last day', is: 'date', required: true },
];
const CURRENCY: FieldSpec = {
  name: 'spentBased',
  label: 'Currency',
  options: [
    ['', 'Platform default'],
    ['usd', 'US dollars'],
    ['local', "Advertiser's currency"],
  ],
};

/** Unknown values from the address stay selectable. */
function fieldsOf(
  { endpoint, advertiserId, period }: Question,
  endpoints: readonly Endpoint[],
  advertisers: readonly Advertiser[],
): readonly FieldSpec[] {
  const known = endpoints.find(({ name }) => name === endpoint);
  const isUnusual = period !== '' && !PERIODS.some(([value]) => value === period);
  return [
    {
      name: 'endpoint',
      label: 'Report',
      options: [...(known ? [] : [endpoint]), ...endpoints.map(({ name }) => name)],
    },
    {
      name: 'advertiserId',
      label: 'Advertiser',
      required: true,
      offers: advertisers,
      help:
        advertisers.find(({ id }) => String(id) === advertiserId)?.name ?? 'An id, or a name from the list.',
    },
    {
      name: 'period',
      label: 'Period',
      options: [...PERIODS, ...(isUnusual ? [period] : []), ['', 'Custom …']],
    },
    ...(period === '' ? OWN_DAYS : []),
    ...(known?.hasCurrency ? [CURRENCY] : []),
    {
      name: 'asOf',
      label: 'As of (UTC)',
      is: 'datetime-local',
      help: 'Default: now. Otherwise the data known at that time.',
    },
  ];
}

interface SplitsProps {
  readonly draft: Question;
  readonly change: (part: Partial<Question>) => void;
  readonly names: readonly string[];
}

const Splits = ({ draft: { splits }, change, names }: SplitsProps) => (
  <fieldset class="checks">
    <legend>Split</legend>
    {names.map((name) => (
      <label key={name}>
        <input
          type="checkbox"
          checked={splits.includes(name)}
          onChange={({ currentTarget: { checked } }) =>
            change({ splits: [...splits.filter((other) => other !== name), ...(checked ? [name] : [])] })
          }
        />
        {titleOf(name)}
      </label>
    ))}
  </fieldset>
);
