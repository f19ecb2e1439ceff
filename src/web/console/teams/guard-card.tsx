/** What the writes of a team may cost, by route, and what of the day is left. */

import { Fragment } from 'preact';
import type { AnswerTo } from '../../../api/operations/table.js';
import { amount } from '../../ui/format.js';
import { Card, Empty, Wait } from '../../ui/parts.js';
import { useGet } from '../../ui/session.js';
import { type GuardRule, isKnown, type WriteGuard } from './guard.js';
import type { Team } from './team.js';

type DayBudget = AnswerTo<'GET /admin/v1/teams/:id/write-budgets'>['budgets'][number];

/** Often enough to see a day run out. */
const LIVE_MS = 15_000;

/** Of a team that may not write, and has no guard, there is nothing to tell. */
export function GuardCard({ team }: { readonly team: Team }) {
  const { writeGuard, scopes } = team;
  if (writeGuard === undefined && !scopes.includes('platform:write')) return null;
  return (
    <Card title="What its writes may cost">
      {writeGuard === undefined ? (
        <Empty>
          The team has no write guard: whatever its scopes and advertisers allow is sent, unless the settings
          refuse the writes of teams without one.
        </Empty>
      ) : isKnown(writeGuard) ? (
        <Rules team={team} guard={writeGuard} />
      ) : (
        <>
          <p class="note warn">
            Another release of the gateway wrote this guard, and this one does not know all that it says: it
            refuses the writes of the team.
          </p>
          <pre>{JSON.stringify(writeGuard, null, 2)}</pre>
        </>
      )}
    </Card>
  );
}

function Rules({ team: { id }, guard }: { readonly team: Team; readonly guard: WriteGuard }) {
  const rules = Object.entries(guard);
  const isCounted = rules.some(([, { budget }]) => budget?.maxPerDay !== undefined);
  const budgets = useGet<{ budgets: readonly DayBudget[] }>(
    isCounted ? `/admin/v1/teams/${id}/write-budgets` : null,
    LIVE_MS,
  );
  if (rules.length === 0) return <Empty>Every write is refused: the guard lists no route.</Empty>;
  return (
    <>
      <p class="quiet">Writes to other routes are refused.</p>
      {isCounted && budgets.error !== null ? <Wait of={budgets}>{() => null}</Wait> : null}
      {rules.map(([route, rule]) => (
        <section key={route} class="rule" aria-label={route}>
          <h3>
            <code>{route}</code>
          </h3>
          <Rule rule={rule} today={budgets.value?.budgets.find((one) => one.route === route)} />
        </section>
      ))}
    </>
  );
}

interface RuleProps {
  readonly rule: GuardRule;
  /** Left out where the day has no limit, or is not known yet. */
  readonly today: DayBudget | undefined;
}

function Rule({ rule, today }: RuleProps) {
  const { budget, amounts = [], allowFields, requireIdempotencyKey = false } = rule;
  return (
    <dl class="facts">
      {budget === undefined ? null : <Budget budget={budget} today={today} />}
      {amounts.map(({ field, max }) => (
        <Fragment key={field}>
          <dt>
            <code>{field}</code>
          </dt>
          <dd>at most {amount(max)}</dd>
        </Fragment>
      ))}
      <dt>Fields</dt>
      <dd>
        {allowFields === undefined ? (
          <>any: amounts that no rule names are not seen</>
        ) : (
          <ul class="chips" aria-label="Fields that the body may have">
            {allowFields.map((field) => (
              <li key={field} class="chip">
                {field}
              </li>
            ))}
          </ul>
        )}
      </dd>
      <dt>Idempotency key</dt>
      <dd>{requireIdempotencyKey ? 'required' : 'may be left out'}</dd>
    </dl>
  );
}

function Budget({
  budget: { field, currency, currencyField, maxPerCall, maxPerDay },
  today,
}: {
  readonly budget: NonNullable<GuardRule['budget']>;
  readonly today: DayBudget | undefined;
}) {
  return (
    <>
      <dt>Budget</dt>
      <dd>
        <code>{field}</code>
        {currency === undefined ? null : ` in ${currency}`}
        {currencyField === undefined ? (
          <span class="quiet">; a currency in the body is the caller’s</span>
        ) : (
          <>
            , which has to stand in <code>{currencyField}</code>
          </>
        )}
      </dd>
      <dt>A call</dt>
      <dd>{maxPerCall === undefined ? 'any amount' : `at most ${amount(maxPerCall, currency)}`}</dd>
      <dt>A day</dt>
      <dd>
        {maxPerDay === undefined ? 'any amount' : `at most ${amount(maxPerDay, currency)}`}
        {today === undefined ? null : <Today {...today} />}
      </dd>
    </>
  );
}

function Today({ day, maxPerDay, left, currency }: DayBudget) {
  const used = Math.max(0, maxPerDay - left);
  const unit = currency ?? undefined;
  return (
    <div class="today">
      <meter
        min={0}
        max={maxPerDay}
        high={NEARLY * maxPerDay}
        optimum={0}
        value={used}
        aria-label={`Used of ${day}`}
      />
      <span class="small quiet">
        {amount(used, unit)} used on {day}, {amount(left, unit)} left
      </span>
    </div>
  );
}

/** From this share on a day is shown as nearly used up. */
const NEARLY = 0.8;
