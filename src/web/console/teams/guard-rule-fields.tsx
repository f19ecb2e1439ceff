/** One rule of a write guard in the form: a route, and what its writes may cost. */
import type { Fault } from '../../ui/api.js';
import { Field } from '../../ui/parts.js';
import { type AmountDraft, METHODS, newAmount, type RuleDraft, routeOf } from './guard.js';
import { linesOf } from './lines.js';
import { faultAt } from './team.js';

interface RuleProps {
  readonly rule: RuleDraft;
  readonly change: (part: Partial<RuleDraft>) => void;
  readonly faults: readonly Fault[];
}

interface GuardRuleFieldsProps extends RuleProps {
  /** Its place among the rules, from 1. */
  readonly number: number;
  readonly remove: () => void;
}

export function GuardRuleFields({ number, remove, ...props }: GuardRuleFieldsProps) {
  const { rule, change, faults } = props;
  const own = exactFault(faults, placeOf(rule));
  return (
    <fieldset class="rule">
      <legend>Rule {number}</legend>
      <div class="rule-route">
        <Field label="Method">
          <select value={rule.method} onChange={({ currentTarget: { value } }) => change({ method: value })}>
            {[...METHODS, ...(METHODS.some((one) => one === rule.method) ? [] : [rule.method])].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </Field>
        <Text
          label="Path"
          help="A last segment * stands for any one, as in /api/v1/campaign/*"
          value={rule.path}
          fault={own}
          set={(path) => change({ path })}
        />
        <button type="button" aria-label={`Remove rule ${number}`} onClick={remove}>
          Remove
        </button>
      </div>
      <Budget {...props} />
      <Amounts {...props} />
      <Conditions {...props} />
    </fieldset>
  );
}

const placeOf = (rule: RuleDraft) => `writeGuard.${routeOf(rule)}`;

const exactFault = (faults: readonly Fault[], param: string) =>
  faults.find((fault) => fault.param === param)?.message;

interface TextProps {
  readonly label: string;
  readonly help?: string;
  readonly value: string;
  readonly fault: string | undefined;
  readonly set: (value: string) => void;
  readonly decimal?: boolean;
}

function Text({ label, help, value, fault, set, decimal = false }: TextProps) {
  return (
    <Field label={label} help={help} fault={fault}>
      <input
        value={value}
        spellcheck={false}
        autocomplete="off"
        inputMode={decimal ? 'decimal' : 'text'}
        onInput={({ currentTarget }) => set(currentTarget.value)}
      />
    </Field>
  );
}

function Budget({ rule, change, faults }: RuleProps) {
  const place = `${placeOf(rule)}.budget`;
  const own = exactFault(faults, place);
  return (
    <div class="stack">
      <div class="form-grid">
        <Text
          label="Budget field"
          help="Where the amount stands that is counted, such as body.budget.total"
          value={rule.field}
          fault={faultAt(faults, `${place}.field`)}
          set={(field) => change({ field })}
        />
        <Text
          label="Currency"
          help="Of the limits, such as EUR."
          value={rule.currency}
          fault={faultAt(faults, `${place}.currency`)}
          set={(currency) => change({ currency })}
        />
        <Text
          label="Currency field"
          help="Where this very currency has to stand, such as body.currency"
          value={rule.currencyField}
          fault={faultAt(faults, `${place}.currencyField`)}
          set={(currencyField) => change({ currencyField })}
        />
      </div>
      <div class="form-grid">
        <Text
          label="Most a call"
          value={rule.maxPerCall}
          fault={faultAt(faults, `${place}.maxPerCall`) ?? own}
          set={(maxPerCall) => change({ maxPerCall })}
          decimal
        />
        <Text
          label="Most a day"
          help="By the platform’s time zone."
          value={rule.maxPerDay}
          fault={faultAt(faults, `${place}.maxPerDay`)}
          set={(maxPerDay) => change({ maxPerDay })}
          decimal
        />
      </div>
    </div>
  );
}

function Amounts({ rule, change, faults }: RuleProps) {
  const { amounts } = rule;
  const place = `${placeOf(rule)}.amounts`;
  const own = exactFault(faults, place);
  const set = (amount: AmountDraft, part: Partial<AmountDraft>) =>
    change({ amounts: amounts.map((one) => (one === amount ? { ...one, ...part } : one)) });
  return (
    <>
      {amounts.map((amount, index) => (
        <div key={amount.key} class="rule-amount">
          <Text
            label="Another amount"
            value={amount.field}
            fault={faultAt(faults, `${place}.${index}.field`)}
            set={(field) => set(amount, { field })}
          />
          <Text
            label="At most"
            value={amount.max}
            fault={faultAt(faults, `${place}.${index}.max`)}
            set={(max) => set(amount, { max })}
            decimal
          />
          <button
            type="button"
            aria-label={`Remove the amount ${amount.field}`}
            onClick={() => change({ amounts: amounts.filter((one) => one !== amount) })}
          >
            Remove
          </button>
        </div>
      ))}
      {own === undefined ? null : <p class="fault">{own}</p>}
      <div class="row">
        <button
          type="button"
          class="plain"
          onClick={() => change({ amounts: [...amounts, newAmount('body.')] })}
        >
          Limit another amount
        </button>
      </div>
    </>
  );
}

function Conditions({ rule, change, faults }: RuleProps) {
  const place = placeOf(rule);
  const keyFault = faultAt(faults, `${place}.requireIdempotencyKey`);
  return (
    <>
      <Field
        label="Fields that the body may have"
        help="One a line; the first name of each place above has to be among them. Any when left empty: then amounts that no rule names are not seen."
        fault={faultAt(faults, `${place}.allowFields`, linesOf(rule.allowFields))}
      >
        <textarea
          rows={3}
          spellcheck={false}
          value={rule.allowFields}
          onInput={({ currentTarget: { value } }) => change({ allowFields: value })}
        />
      </Field>
      <div class={keyFault === undefined ? 'boxes' : 'boxes wrong'}>
        <label>
          <input
            type="checkbox"
            checked={rule.needsKey}
            onChange={({ currentTarget: { checked } }) => change({ needsKey: checked })}
          />
          <span>
            <strong>Idempotency key required</strong>
            <span class="small quiet">A call without one is refused. For POST alone.</span>
          </span>
        </label>
        {keyFault === undefined ? null : <p class="fault">{keyFault}</p>}
      </div>
    </>
  );
}
