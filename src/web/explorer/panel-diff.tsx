/** What changed of the report, from history, without a platform call: by day, and between two moments of choice. */
import { useMemo } from 'preact/hooks';
import type { FieldSpec } from '../ui/form-values.js';
import { moment } from '../ui/format.js';
import { Card, Empty, Wait } from '../ui/parts.js';
import { SchemaForm } from '../ui/schema-form.js';
import { useGet } from '../ui/session.js';
import { instantFrom, isKnown, isNamed, momentsOf, pinIn, type Revisions } from './changed.js';
import { Changed, Since } from './changed-days.js';
import { currencyOf, haveCurrencies } from './columns.js';
import { namesIn } from './diff-rows.js';
import { isNotKnownThen } from './not-known-then.js';
import type { Report } from './parse.js';
import { PINS, type Pins } from './pinned.js';
import { aboutPath, instantOf, thenWords, type Viewed } from './question.js';

export function DiffPanel({ report, ...props }: Viewed & { readonly report: Report }) {
  const { question, view, about } = props;
  const names = useMemo(() => namesIn(report.rows), [report]);
  const isByDay = question.splits.includes('byDate');
  const revisions = useGet<Revisions>(isByDay ? aboutPath('revisions', question) : null);
  const pin = pinIn(momentsOf(view.between).from);
  const pins = useGet<Pins>(pin === null ? null : PINS);
  if (!isByDay)
    return (
      <Card title="What changed">
        <Empty>History is kept by day: choose one row per date above to see it.</Empty>
      </Card>
    );
  const pinnedAt = pins.value?.data.find(({ id }) => id === pin)?.knownAt;
  const thenAt = question.asOf !== '' && view.between === '' ? report.meta.knownAt : undefined;
  const at = pinnedAt ?? thenAt;
  const start =
    at === undefined
      ? null
      : { at, title: pinnedAt ? `the pin (numbers as of ${moment(at)})` : thenWords(question.asOf) };
  return (
    <Card title="What changed" tools={<Since {...props} start={start} />}>
      <Wait of={revisions}>
        {(value) =>
          !isKnown(value) ? (
            <Unknown {...props} />
          ) : pins.loading ? null : (
            <Changed
              {...props}
              {...{ revisions: value, start, names }}
              currency={currencyOf(report.rows, about.currency)}
              isMixed={haveCurrencies(report.rows)}
            />
          )
        }
      </Wait>
      <OtherMoments {...props} />
    </Card>
  );
}

/** Of the row-by-row comparison between the moments of the address. */
function diffPath({ question, view }: Pick<Viewed, 'question' | 'view'>): string {
  const { from, to } = momentsOf(view.between);
  const asked = { from: instantFrom(from, Date.now()) || 'first', to: instantOf(to) || 'latest' };
  return aboutPath('diff', question, asked);
}

/** The refusal of a comparison says why nothing is known. */
function Unknown(props: Viewed) {
  const diff = useGet<unknown>(diffPath(props));
  // What the gateway would have programs do is not for this page.
  if (isNotKnownThen(diff.error)) return <Empty>{diff.error.problem.detail}</Empty>;
  return <Wait of={diff}>{() => <Empty>No numbers of these days are recorded yet.</Empty>}</Wait>;
}

function OtherMoments(props: Viewed) {
  const { view, setView } = props;
  const { from, to } = momentsOf(view.between);
  const pin = pinIn(from);
  return (
    <details open={!(view.between === '' || isNamed(view.between))}>
      <summary>
        <strong>Between two moments</strong>
      </summary>
      <SchemaForm
        key={view.between}
        label="Moments"
        fields={pin === null ? MOMENTS : SINCE_PIN}
        start={{ from: pin !== null ? '' : instantFrom(from, Date.now()).replace(/:00Z$/, ''), to }}
        submit="Compare"
        look=""
        send={async (typed) =>
          setView({ between: `${typed.from || (pin ?? 'first')},${typed.to || 'latest'}` })
        }
      />
    </details>
  );
}

const momentsWith = (help: string): readonly FieldSpec[] => [
  { name: 'from', label: 'From (UTC)', is: 'datetime-local', help },
  { name: 'to', label: 'To (UTC)', is: 'datetime-local', help: 'Default: now.' },
];
const MOMENTS = momentsWith('Default: the first numbers after the end of each day.');
const SINCE_PIN = momentsWith('Default: the pin that you came from.');
