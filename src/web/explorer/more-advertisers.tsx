/** Further advertisers of a report, as chips. */
import type { TargetedInputEvent } from 'preact';
import { useState } from 'preact/hooks';
import { Button, Name } from '../ui/parts.js';
import { type Advertiser, CHOSEN, idIn } from './advertiser-names.js';
import { isId, MOST_ADVERTISERS } from './question.js';

interface MoreProps {
  /** Ids. */
  readonly chosen: readonly string[];
  readonly choose: (chosen: readonly string[]) => void;
  /** Id of the first advertiser, which has a field of its own. */
  readonly lead: string;
  readonly advertisers: readonly Advertiser[];
}

export function MoreAdvertisers({ chosen, choose, lead, advertisers }: MoreProps) {
  const [typed, setTyped] = useState('');
  const [fault, setFault] = useState('');
  /** @param text several at once: ids or names, with commas between them */
  const add = (text: string) => {
    const ids = text.split(',').map((text) => idIn(text, advertisers));
    const wrong = ids.find((id) => id !== '' && !isId(id));
    if (wrong !== undefined) return setFault(`No advertiser of your team is called ${wrong}.`);
    choose([...new Set([...chosen, ...ids])].filter((id) => id !== '' && id !== lead));
    setTyped('');
  };
  const isFull = chosen.length + 1 >= MOST_ADVERTISERS;
  return (
    <fieldset class="checks">
      <legend>Together with</legend>
      {chosen.map((id) => {
        const unnamed = `Advertiser ${id}`;
        const name = advertisers.find((one) => String(one.id) === id)?.name ?? unnamed;
        return (
          <span key={id} class="tag chip">
            <Name>{name}</Name> {name === unnamed ? null : id}
            <Button
              label="×"
              class="plain"
              aria-label={`Remove ${name}`}
              act={() => choose(chosen.filter((one) => one !== id))}
            />
          </span>
        );
      })}
      <input
        aria-label="Another advertiser"
        placeholder="Add by id or name"
        list="advertisers"
        autocomplete="off"
        value={typed}
        disabled={isFull}
        aria-invalid={fault !== ''}
        aria-describedby="no-advertiser"
        onInput={({ currentTarget: { value }, inputType = CHOSEN }: TargetedInputEvent<HTMLInputElement>) => {
          setTyped(value);
          setFault('');
          if (inputType === CHOSEN) add(value);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || typed === '') return;
          event.preventDefault();
          add(typed);
        }}
      />
      <Button label="Add" disabled={isFull || typed.trim() === ''} act={() => add(typed)} />
      <span id="no-advertiser" class="fault" role="alert">
        <bdi>{fault}</bdi>
      </span>
      {isFull ? <span class="small quiet">At most {MOST_ADVERTISERS} at once.</span> : null}
    </fieldset>
  );
}
