/** A team's name as a link to its page. */
import { Name } from '../ui/parts.js';
import { hrefOf } from '../ui/route.js';

/** The gateway, which makes calls of its own, has no page. */
export function TeamLink({ id, name }: { readonly id: string; readonly name: string }) {
  if (id === 'gateway') return 'the gateway itself';
  return (
    <a href={hrefOf(['teams', id])}>
      <Name>{name}</Name>
    </a>
  );
}
