/** The form of a write guard: routes, each with what its writes may cost. */
import type { Fault } from '../../ui/api.js';
import { type GuardDraft, newRule, type RuleDraft } from './guard.js';
import { GuardRuleFields } from './guard-rule-fields.js';

interface GuardFieldsProps {
  readonly guard: GuardDraft;
  readonly change: (guard: GuardDraft) => void;
  readonly faults: readonly Fault[];
}

export function GuardFields({ guard, change, faults }: GuardFieldsProps) {
  if (guard === 'another')
    return (
      <p class="note warn">
        Another release of the gateway wrote the write guard of this team, and this page does not know all
        that it says. It stays as it is.
      </p>
    );
  const isGuarded = guard !== 'none';
  const own = faults.filter(({ param }) => param === 'writeGuard').map(({ message }) => message);
  return (
    <>
      <fieldset class="boxes" aria-label="Write guard">
        <GuardChoice
          title="Not guarded"
          says="Any write that its scopes and advertisers allow."
          checked={!isGuarded}
          choose={() => change('none')}
        />
        <GuardChoice
          title="Guarded"
          says="Writes to the routes below alone, within what each rule allows. Every other write is refused."
          checked={isGuarded}
          choose={() => isGuarded || change([newRule()])}
        />
      </fieldset>
      {own.length === 0 ? null : <p class="fault">{own.join('; ')}</p>}
      {isGuarded ? <Rules rules={guard} change={change} faults={faults} /> : null}
    </>
  );
}

interface GuardChoiceProps {
  readonly title: string;
  readonly says: string;
  readonly checked: boolean;
  readonly choose: () => void;
}

function GuardChoice({ title, says, checked, choose }: GuardChoiceProps) {
  return (
    <label>
      <input type="radio" name="guard" checked={checked} onChange={choose} />
      <span>
        <strong>{title}</strong>
        <span class="small quiet">{says}</span>
      </span>
    </label>
  );
}

interface RulesProps {
  readonly rules: readonly RuleDraft[];
  readonly change: (rules: readonly RuleDraft[]) => void;
  readonly faults: readonly Fault[];
}

function Rules({ rules, change, faults }: RulesProps) {
  return (
    <>
      {rules.length === 0 ? <p class="note warn">Without a rule every write is refused.</p> : null}
      {rules.map((rule, index) => (
        <GuardRuleFields
          key={rule.key}
          rule={rule}
          number={index + 1}
          change={(part) => change(rules.map((one) => (one === rule ? { ...one, ...part } : one)))}
          remove={() => change(rules.filter((one) => one !== rule))}
          faults={faults}
        />
      ))}
      <div class="row">
        <button type="button" onClick={() => change([...rules, newRule()])}>
          Add a route
        </button>
      </div>
    </>
  );
}
