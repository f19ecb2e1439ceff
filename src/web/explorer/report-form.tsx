/** What is asked: report, advertiser, period, splits, currency. Shown when the button is pressed. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { Field } from '../ui/fields.js';
import { titleOf } from './columns.js';
import type { Endpoint } from './endpoints.js';
import { faultOf, PERIODS, type Question } from './question.js';
import type { Advertiser } from './team.js';

interface FormProps {
  readonly question: Question;
  readonly endpoints: readonly Endpoint[];
  readonly advertisers: readonly Advertiser[];
  readonly ask: (question: Question) => void;
}

type Change = (part: Partial<Question>) => void;

export function ReportForm({ question, endpoints, advertisers, ask }: FormProps) {
  const [draft, setDraft] = useState(question);
  const [fault, setFault] = useState<string | null>(null);
  // The way back in the browser, or a sent address, is another question. At once: what is typed meanwhile would be lost.
  const place = JSON.stringify(question);
  useLayoutEffect(() => {
    setDraft(question);
    setFault(null);
  }, [place]);
  const change: Change = (part) => setDraft((was) => ({ ...was, ...part }));
  const endpoint = endpoints.find(({ name }) => name === draft.endpoint);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const found = faultOf(draft);
    setFault(found);
    if (found === null) ask(draft);
  };
  return (
    <form class="card" aria-label="Report" onSubmit={submit}>
      <div class="form-grid">
        <Field label="Report">
          <select
            value={draft.endpoint}
            onChange={(event) => change({ endpoint: event.currentTarget.value })}
          >
            {endpoint === undefined ? <option value={draft.endpoint}>{draft.endpoint}</option> : null}
            {endpoints.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        <AdvertiserField draft={draft} change={change} advertisers={advertisers} />
        <PeriodFields draft={draft} change={change} />
        {endpoint?.hasCurrency === true ? (
          <Field label="Currency">
            <select
              value={draft.spentBased}
              onChange={(event) => change({ spentBased: event.currentTarget.value })}
            >
              <option value="">As the platform gives it</option>
              <option value="usd">US dollars</option>
              <option value="local">Of the advertiser</option>
            </select>
          </Field>
        ) : null}
        <Field label="As of (UTC)" help="Empty: now. Else as it was known then.">
          <input
            type="datetime-local"
            value={draft.asOf}
            onInput={(event) => change({ asOf: event.currentTarget.value })}
          />
        </Field>
      </div>
      <div class="toolbar">
        <Splits draft={draft} change={change} names={endpoint?.splits ?? draft.splits} />
        <button type="submit" class="primary">
          Show the report
        </button>
      </div>
      <p class="fault" role="alert">
        {fault}
      </p>
    </form>
  );
}

interface PartProps {
  readonly draft: Question;
  readonly change: Change;
}

function AdvertiserField({
  draft,
  change,
  advertisers,
}: PartProps & { readonly advertisers: readonly Advertiser[] }) {
  const known = advertisers.find(({ id }) => String(id) === draft.advertiserId);
  return (
    <Field
      label="Advertiser"
      help={known?.name ? <bdi>{known.name}</bdi> : 'An id, or a name from the list.'}
    >
      <input
        list="advertisers"
        inputMode="numeric"
        autocomplete="off"
        required
        value={draft.advertiserId}
        onInput={(event) => change({ advertiserId: idIn(event.currentTarget.value, advertisers) })}
      />
      <datalist id="advertisers">
        {advertisers.map(({ id, name }) => (
          <option key={id} value={id}>
            {name ?? ''}
          </option>
        ))}
      </datalist>
    </Field>
  );
}

/** A name that was typed whole is its id. */
function idIn(text: string, advertisers: readonly Advertiser[]): string {
  const typed = text.trim();
  const found = advertisers.filter(({ name }) => name !== null && name.toLowerCase() === typed.toLowerCase());
  return found.length === 1 && found[0] !== undefined ? String(found[0].id) : typed;
}

function PeriodFields({ draft, change }: PartProps) {
  const own = draft.period === '';
  return (
    <>
      <Field label="Period">
        <select value={draft.period} onChange={(event) => change({ period: event.currentTarget.value })}>
          {PERIODS.map(({ value, title }) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
          {own || PERIODS.some(({ value }) => value === draft.period) ? null : (
            <option value={draft.period}>{draft.period}</option>
          )}
          <option value="">Own days …</option>
        </select>
      </Field>
      {own
        ? (['dateFrom', 'dateTo'] as const).map((name) => (
            <Field key={name} label={name === 'dateFrom' ? 'First day' : 'Last day'}>
              <input
                type="date"
                required
                value={draft[name]}
                onInput={(event) => change({ [name]: event.currentTarget.value })}
              />
            </Field>
          ))
        : null}
    </>
  );
}

function Splits({ draft, change, names }: PartProps & { readonly names: readonly string[] }) {
  return (
    <fieldset class="checks">
      <legend>Split</legend>
      {names.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={draft.splits.includes(name)}
            onChange={(event) =>
              change({
                splits: event.currentTarget.checked
                  ? [...draft.splits, name]
                  : draft.splits.filter((other) => other !== name),
              })
            }
          />
          {titleOf(name)}
        </label>
      ))}
    </fieldset>
  );
}
