/** The form of a query. */
import type { TargetedInputEvent } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { Field, Fields } from '../ui/fields.js';
import type { FieldSpec } from '../ui/form-values.js';
import { NARROW, useMedia } from '../ui/media.js';
import { Button } from '../ui/parts.js';
import { type Advertiser, idIn, labelOf } from './advertiser-names.js';
import { titleOf } from './columns.js';
import { type Endpoint, endpointTitle } from './endpoints.js';
import { MoreAdvertisers } from './more-advertisers.js';
import { NotAsked } from './not-asked.js';
import { splitWords } from './pinned.js';
import { faultOf, ofItsDays, PERIODS, periodThen, type Question, thenWords } from './question.js';
import { dayWords, periodWords } from './spans.js';

interface FormProps {
  readonly question: Question;
  readonly endpoints: readonly Endpoint[];
  readonly advertisers: readonly Advertiser[];
  readonly ask: (question: Question) => void;
  /** Whether a phone shows one line in its place, which opens it. */
  readonly folds: boolean;
  readonly standing: Standing;
  readonly setStanding: (standing: Standing) => void;
}

/**
 * Of what the form has: `shown`; `held` until the button is pressed, with the report before still shown; `refused`, as it
 * cannot be asked: the report before is not shown.
 */
export type Standing = 'shown' | 'held' | 'refused';

/** What the form has, and what becomes of a change. */
function useDraft({ question, ask, setStanding }: Pick<FormProps, 'question' | 'ask' | 'setStanding'>) {
  const [draft, setDraft] = useState(question);
  const [refused, setRefused] = useState<Question | null>(null);
  const refuse = (asked: Question | null) => {
    setRefused(asked);
    setStanding(asked === null ? 'shown' : 'refused');
  };
  // The address has changed. A layout effect, as a later one would lose typed text.
  const place = JSON.stringify(question);
  useLayoutEffect(() => {
    setDraft(question);
    refuse(null);
  }, [place]);
  const change = (part: Partial<Question>) => {
    const next = { ...draft, ...part };
    setDraft(next);
    if (refused === null) setStanding(JSON.stringify(next) === place ? 'shown' : 'held');
    return next;
  };
  // A choice is shown at once, unless the question is not complete, or takes long.
  const choose = (part: Partial<Question>) => {
    const next = change(part);
    if (faultOf(next) !== null || next.others.length > 0 || next.asOf !== '') return;
    refuse(null);
    if (JSON.stringify(next) !== place) ask(next);
  };
  /** @returns whether it can be asked */
  const submit = (asked: Question): boolean => {
    const isWrong = faultOf(asked) !== null;
    setDraft(asked);
    refuse(isWrong ? asked : null);
    if (!isWrong) ask(asked);
    return !isWrong;
  };
  return { draft, refused, change, choose, submit };
}

export function ReportForm({ question, endpoints, advertisers, folds, ...props }: FormProps) {
  const { draft, refused, change, choose, submit } = useDraft({ question, ...props });
  const isFolding = useMedia(NARROW) && folds;
  const [isOpen, setIsOpen] = useState(false);
  const endpoint = endpoints.find(({ name }) => name === draft.endpoint);
  return (
    <form
      class="card report-form"
      aria-label="Report"
      onSubmit={(event) => {
        event.preventDefault();
        setIsOpen(!submit(draft));
      }}
    >
      {isFolding ? (
        <div class="asked">
          <bdi>{askedWords(question, advertisers)}</bdi>
          <Button label="Change" aria-expanded={isOpen} act={() => setIsOpen(!isOpen)} />
        </div>
      ) : null}
      {isFolding && !isOpen ? null : (
        <div class="form-grid">
          <Fields fields={[reportField(draft, endpoints)]} values={{ ...draft }} set={choose} />
          <AdvertiserField
            id={draft.advertiserId}
            advertisers={advertisers}
            set={(advertiserId, isChosen) => (isChosen ? choose : change)({ advertiserId })}
          />
          <Fields fields={[periodField(draft)]} values={{ ...draft }} set={choose} />
          <Fields fields={draft.period === '' ? OWN_DAYS : []} values={{ ...draft }} set={change} />
          <Fields fields={endpoint?.hasCurrency ? [CURRENCY] : []} values={{ ...draft }} set={choose} />
          <details open={question.others.length > 0}>
            <summary>Several advertisers together</summary>
            <MoreAdvertisers
              chosen={draft.others}
              choose={(others) => change({ others })}
              lead={draft.advertiserId}
              advertisers={advertisers}
            />
          </details>
          <Splits draft={draft} change={choose} names={endpoint?.splits ?? draft.splits} />
          <EarlierFields asOf={draft.asOf} set={(asOf) => change({ asOf })} />
          <div class="stack">
            <Button label="Show the report" class="primary" />
            <span role="status" class="small">
              {props.standing === 'held' ? 'Not shown yet: press Show the report.' : null}
            </span>
          </div>
        </div>
      )}
      {refused === null ? null : (
        <NotAsked
          question={refused}
          advertisers={advertisers}
          choose={(advertiserId) => setIsOpen(!submit({ ...refused, advertiserId }))}
        />
      )}
    </form>
  );
}

/** `Campaigns · Acme · Last 30 days · by date` */
function askedWords(question: Question, advertisers: readonly Advertiser[]): string {
  const { endpoint, advertiserId: id, others, splits, asOf } = question;
  const { period, dateFrom: from, dateTo: to } = ofItsDays(question);
  const name = advertisers.find((one) => String(one.id) === id)?.name ?? `advertiser ${id}`;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const days = PERIODS.find(([value]) => value === period)?.[1] ?? (period || periodWords({ from, to }));
  const split = splitWords(splits.map((one) => one.replace(/^by/, '')));
  const then = asOf === '' ? [] : [`as they were on ${thenWords(asOf)}`];
  return [endpointTitle(endpoint), `${name}${more}`, days, split, ...then].join(' · ');
}

interface AdvertiserProps {
  readonly id: string;
  readonly advertisers: readonly Advertiser[];
  /** @param isChosen from the list, not typed */
  readonly set: (id: string, isChosen: boolean) => void;
}

/** How an `input` event says that a suggestion was taken; some browsers say nothing. */
const CHOSEN = 'insertReplacementText';

/** Shows the name. It is empty while it has the focus, as a browser offers only what begins with the text. */
function AdvertiserField({ id, advertisers, set }: AdvertiserProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const known = advertisers.find((one) => String(one.id) === id);
  const name = known === undefined ? id : labelOf(known, advertisers);
  const help = known === undefined || name === id ? 'A name from the list, or an id.' : `Id ${id}`;
  return (
    <Field label="Advertiser" help={help}>
      <input
        list="advertisers"
        autocomplete="off"
        spellcheck={false}
        value={typed ?? name}
        placeholder={name}
        onFocus={() => setTyped('')}
        onBlur={() => {
          // Some browsers do not say that a suggestion was taken; what is typed is whole when the field is left.
          if (typed !== null && typed.trim() !== '') set(idIn(typed, advertisers), true);
          setTyped(null);
        }}
        onInput={({ currentTarget: { value }, inputType = CHOSEN }: TargetedInputEvent<HTMLInputElement>) => {
          setTyped(value);
          if (value.trim() !== '') set(idIn(value, advertisers), inputType === CHOSEN);
        }}
      />
      <datalist id="advertisers">
        {advertisers.map((one) => (
          <option key={one.id} value={labelOf(one, advertisers)}>
            {one.id}
          </option>
        ))}
      </datalist>
    </Field>
  );
}

const OWN_DAYS: readonly FieldSpec[] = [
  { name: 'dateFrom', label: 'First day', is: 'date', required: true },
  { name: 'dateTo', label: 'Last day', is: 'date', required: true },
];
const CURRENCY: FieldSpec = {
  name: 'spentBased',
  label: 'Currency',
  options: [
    ['', 'As sent'],
    ['usd', 'US dollars'],
    ['local', "Advertiser's currency"],
  ],
};

const EARLIER: readonly FieldSpec[] = [
  { name: 'day', label: 'As they were on', is: 'date', help: 'Empty: the numbers of now.' },
  { name: 'time', label: 'At a time (UTC)', is: 'time', help: 'Empty: the end of that day.' },
];

interface EarlierProps {
  readonly asOf: string;
  readonly set: (asOf: string) => void;
}

/** A day and its time in one value, as the gateway takes it. */
function EarlierFields({ asOf, set }: EarlierProps) {
  const [day = '', time = ''] = asOf.split('T');
  const values = { day, time: time.slice(0, 5) };
  return (
    <Fields
      fields={EARLIER}
      values={values}
      set={(part) => {
        const next = { ...values, ...part };
        set(next.time === '' ? next.day : `${next.day}T${next.time}`);
      }}
    />
  );
}

/** Unknown values from the address stay selectable. */
function reportField({ endpoint }: Question, endpoints: readonly Endpoint[]): FieldSpec {
  const known = endpoints.map(({ name }) => name);
  const names = known.includes(endpoint) ? known : [endpoint, ...known];
  const titles = names.map(endpointTitle);
  const isAlone = (title: string) => titles.filter((other) => other === title).length === 1;
  return {
    name: 'endpoint',
    label: 'Report',
    options: names.map((name, index) => {
      const title = titles[index] ?? name;
      return [name, isAlone(title) ? title : `${title} · ${name}`] as const;
    }),
    help: endpoint,
  };
}

function periodField(draft: Question): FieldSpec {
  const { period } = draft;
  const then = periodThen(draft);
  const isUnusual = period !== '' && !PERIODS.some(([value]) => value === period);
  return {
    name: 'period',
    label: 'Period',
    options: [...PERIODS, ...(isUnusual ? [period] : []), ['', 'Custom …']],
    ...(then === null ? {} : { help: `As on ${dayWords(draft.asOf)}: ${periodWords(then)}.` }),
  };
}

interface SplitsProps {
  readonly draft: Question;
  readonly change: (part: Partial<Question>) => void;
  readonly names: readonly string[];
}

const Splits = ({ draft: { splits }, change, names }: SplitsProps) => (
  <fieldset class="checks">
    <legend>One row per</legend>
    {names.map((name) => (
      <label key={name}>
        <input
          type="checkbox"
          checked={splits.includes(name)}
          onChange={({ currentTarget: { checked } }) =>
            change({ splits: [...splits.filter((other) => other !== name), ...(checked ? [name] : [])] })
          }
        />
        {titleOf(name.replace(/^by/, ''))}
      </label>
    ))}
  </fieldset>
);
