/** The form of a write guard: a rule per route. */
import type { Fault } from '../../ui/api.js';
import { Box, Field, FieldGrid, Fields, Select } from '../../ui/fields.js';
import { Button } from '../../ui/parts.js';
import {
  AMOUNT_FIELDS,
  BUDGET_FIELDS,
  CONDITION_FIELDS,
  type GuardDraft,
  MOST_FIELDS,
  newAmount,
  newRule,
  type RuleDraft,
  routeOf,
} from './guard.js';

interface GuardFormProps {
  readonly guard: GuardDraft;
  readonly change: (guard: GuardDraft) => void;
  readonly faults: readonly Fault[];
}

export function GuardForm({ guard, change, faults }: GuardFormProps) {
  if (guard === 'another')
    return (
      <p class="note warn">
        The write guard of this team was written by another release and has rules that this page does not
        know. It stays unchanged.
      </p>
    );
  const isGuarded = guard !== 'none';
  return (
    <>
      <fieldset class="boxes" aria-label="Write guard">
        <Box
          group="guard"
          title="Not guarded"
          says="All writes that scopes and advertisers allow."
          checked={!isGuarded}
          choose={() => change('none')}
        />
        <Box
          group="guard"
          title="Guarded"
          says="Only writes to the routes below, within their limits. All others are refused."
          checked={isGuarded}
          choose={() => isGuarded || change([newRule()])}
        />
      </fieldset>
      <Wrong faults={faults} param="writeGuard" />
      {isGuarded ? <Rules rules={guard} change={change} faults={faults} /> : null}
    </>
  );
}

interface WrongProps {
  readonly faults: readonly Fault[];
  readonly param: string;
}

const exactFault = ({ faults, param }: WrongProps) => faults.find((one) => one.param === param)?.message;

function Wrong(props: WrongProps) {
  const message = exactFault(props);
  return message === undefined ? null : <p class="fault">{message}</p>;
}

function replaced<T>(all: readonly T[], old: T, part: Partial<T>): readonly T[] {
  return all.map((one) => (one === old ? { ...one, ...part } : one));
}

interface RulesProps extends Omit<GuardFormProps, 'guard'> {
  readonly rules: readonly RuleDraft[];
}

function Rules({ rules, change, faults }: RulesProps) {
  return (
    <>
      {rules.length === 0 ? <p class="note warn">Without rules every write is refused.</p> : null}
      {rules.map((rule, index) => (
        <Rule
          key={rule.key}
          rule={rule}
          number={index + 1}
          change={(part) => change(replaced(rules, rule, part))}
          remove={() => change(rules.filter((one) => one !== rule))}
          faults={faults}
        />
      ))}
      <div class="row">
        <Button label="Add a route" act={() => change([...rules, newRule()])} />
      </div>
    </>
  );
}

interface RuleProps {
  readonly rule: RuleDraft;
  /** From 1. */
  readonly number: number;
  readonly change: (part: Partial<RuleDraft>) => void;
  readonly remove: () => void;
  readonly faults: readonly Fault[];
}

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'];

function Rule({ rule, number, change, remove, faults }: RuleProps) {
  const route = `writeGuard.${routeOf(rule)}`;
  const typed = {
    values: rule.typed,
    faults,
    place: `${route}.`,
    set: (part: object) => change({ typed: { ...rule.typed, ...part } }),
  };
  // A fault of the whole budget is shown at a field.
  const most = faults.map((one) =>
    one.param === `${route}.budget` ? { ...one, param: `${one.param}.maxPerCall` } : one,
  );
  return (
    <fieldset class="rule">
      <legend>Rule {number}</legend>
      <div class="rule-route">
        <Field label="Method">
          <Select
            options={[...new Set([...METHODS, rule.method])]}
            value={rule.method}
            choose={(method) => change({ method })}
          />
        </Field>
        <Field
          label="Path"
          help="* as the last segment matches any, as in /api/v1/campaign/*"
          fault={exactFault({ faults, param: route })}
        >
          <input
            value={rule.path}
            spellcheck={false}
            autocomplete="off"
            onInput={({ currentTarget: { value } }) => change({ path: value })}
          />
        </Field>
        <Button label="Remove" aria-label={`Remove rule ${number}`} act={remove} />
      </div>
      <FieldGrid fields={BUDGET_FIELDS} {...typed} />
      <FieldGrid fields={MOST_FIELDS} {...typed} faults={most} />
      <Amounts rule={rule} change={change} faults={faults} />
      <Fields fields={CONDITION_FIELDS} {...typed} />
    </fieldset>
  );
}

function Amounts({ rule, change, faults }: Pick<RuleProps, 'rule' | 'change' | 'faults'>) {
  const { amounts } = rule;
  const place = `writeGuard.${routeOf(rule)}.amounts`;
  return (
    <>
      {amounts.map((amount, index) => (
        <div key={amount.key} class="rule-amount">
          <Fields
            fields={AMOUNT_FIELDS}
            values={amount.typed}
            set={(part) =>
              change({ amounts: replaced(amounts, amount, { typed: { ...amount.typed, ...part } }) })
            }
            faults={faults}
            place={`${place}.${index}.`}
          />
          <Button
            label="Remove"
            aria-label={`Remove the amount ${amount.typed.field}`}
            act={() => change({ amounts: amounts.filter((one) => one !== amount) })}
          />
        </div>
      ))}
      <Wrong faults={faults} param={place} />
      <div class="row">
        <button type="button" class="plain" onClick={() => change({ amounts: [...amounts, newAmount()] })}>
          Add an amount limit
        </button>
      </div>
    </>
  );
}
