/** The write guard of a team, with the remaining budget of the day. */
import type { AnswerTo } from '../../../api/operations/table.js';
import { amount } from '../../ui/format.js';
import { Card, Empty, type Fact, Facts, Track, toneOf, Wait } from '../../ui/parts.js';
import { useGet } from '../../ui/session.js';
import { type GuardRule, isKnown, type WriteGuard } from './guard.js';
import type { Team } from './team.js';

type DayBudget = AnswerTo<'GET /admin/v1/teams/:id/write-budgets'>['budgets'][number];

/** Hidden for teams that have no guard and may not write. */
export function GuardCard({ team: { id, writeGuard, scopes } }: { readonly team: Team }) {
  if (writeGuard === undefined && !scopes.includes('platform:write')) return null;
  return (
    <Card title="Write guard">
      {writeGuard === undefined ? (
        <Empty>
          The team has no write guard: all writes that its scopes and advertisers allow are sent, unless the
          settings refuse the writes of teams without one.
        </Empty>
      ) : isKnown(writeGuard) ? (
        <Rules id={id} guard={writeGuard} />
      ) : (
        <>
          <p class="note warn">
            This guard was written by another release and has rules that this release does not know: it
            refuses the writes of the team.
          </p>
          <pre>{JSON.stringify(writeGuard, null, 2)}</pre>
        </>
      )}
    </Card>
  );
}

function Rules({ id, guard }: { readonly id: string; readonly guard: WriteGuard }) {
  const rules = Object.entries(guard);
  const isCounted = rules.some(([, { budget }]) => budget?.maxPerDay !== undefined);
  const path = isCounted ? `/admin/v1/teams/${id}/write-budgets` : null;
  const budgets = useGet<{ budgets: readonly DayBudget[] }>(path, 15_000);
  if (rules.length === 0) return <Empty>Every write is refused: the guard has no routes.</Empty>;
  return (
    <>
      <p class="quiet">Writes to other routes are refused.</p>
      {budgets.error === null ? null : <Wait of={budgets}>{() => null}</Wait>}
      {rules.map(([route, rule]) => {
        const today = budgets.value?.budgets.find((one) => one.route === route);
        return (
          <section key={route} class="rule" aria-label={route}>
            <h3>
              <code>{route}</code>
            </h3>
            <Facts of={factsOf(rule, today)} />
          </section>
        );
      })}
    </>
  );
}

const atMost = (max: number | undefined, currency?: string): string =>
  max === undefined ? 'any amount' : `at most ${amount(max, currency)}`;

/** @param today undefined: no daily limit, or not loaded yet */
function factsOf(rule: GuardRule, today: DayBudget | undefined): Fact[] {
  const { budget, amounts = [], allowFields, requireIdempotencyKey = false } = rule;
  const ofBudget: Fact[] =
    budget === undefined
      ? []
      : [
          ['Budget', <BudgetPlace {...budget} />],
          ['A call', atMost(budget.maxPerCall, budget.currency)],
          [
            'A day',
            <>
              {atMost(budget.maxPerDay, budget.currency)}
              {today === undefined ? null : <Today {...today} />}
            </>,
          ],
        ];
  return [
    ...ofBudget,
    ...amounts.map(({ field, max }): Fact => [<code>{field}</code>, atMost(max, budget?.currency)]),
    ['Fields', allowFields?.join(', ') ?? 'any; amounts without a rule are not checked'],
    ['Idempotency key', requireIdempotencyKey ? 'required' : 'optional'],
  ];
}

const BudgetPlace = ({ field, currency, currencyField }: NonNullable<GuardRule['budget']>) => (
  <>
    <code>{field}</code>
    {currency === undefined ? null : ` in ${currency}`}
    {currencyField === undefined ? (
      <span class="quiet">; a currency in the body is the caller’s</span>
    ) : (
      <>
        , which has to stand in <code>{currencyField}</code>
      </>
    )}
  </>
);

function Today({ day, maxPerDay, left, currency }: DayBudget) {
  const [used, unit] = [maxPerDay - left, currency ?? undefined];
  const share = maxPerDay === 0 ? 1 : used / maxPerDay;
  return (
    <>
      <Track share={share} tone={toneOf(share)} />
      <span class="small quiet">
        {amount(used, unit)} used on {day}, {amount(left, unit)} left
      </span>
    </>
  );
}
