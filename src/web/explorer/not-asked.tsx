/** Why a question cannot be asked; for a name that no advertiser has, those it may mean. */
import { Button, Name } from '../ui/parts.js';
import { type Advertiser, labelOf, offersFor } from './advertiser-names.js';
import { faultOf, isId, type Question } from './question.js';

interface NotAskedProps {
  readonly question: Question;
  readonly advertisers: readonly Advertiser[];
  readonly choose: (advertiserId: string) => void;
}

export function NotAsked({ question, advertisers, choose }: NotAskedProps) {
  const typed = question.advertiserId;
  const isName = typed !== '' && !isId(typed);
  const { contain, offers } = offersFor(typed, advertisers);
  return (
    <div class="note bad stack" role="alert">
      <p>
        <strong>Not asked.</strong>{' '}
        {!isName ? (
          faultOf(question)
        ) : offers.length === 0 ? (
          <>
            No names of advertisers are known to your team yet, so <Name>{`“${typed}”`}</Name> cannot be
            looked up. Enter the id, a whole number, as the platform's dashboard shows it.
          </>
        ) : (
          <>
            No advertiser of your team is called <Name>{`“${typed}”`}</Name>. Choose one
            {contain ? ' whose name contains it' : ', the nearest names first'}, or enter an id.
          </>
        )}
      </p>
      {!isName || offers.length === 0 ? null : (
        <p class="row">
          {offers.map((one) => (
            <Button
              key={one.id}
              label={<Name>{labelOf(one, advertisers)}</Name>}
              title={`Id ${one.id}`}
              act={() => choose(String(one.id))}
            />
          ))}
        </p>
      )}
    </div>
  );
}
