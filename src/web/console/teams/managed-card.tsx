/** A team that a file declares: why it is not edited here, and where it is. */
import { Card } from '../../ui/parts.js';
import { hrefOf } from '../../ui/route.js';
import type { Team } from './team.js';

export function ManagedCard({ team: { id } }: { readonly team: Team }) {
  return (
    <Card title="Declared in a file" class="managed">
      <p>
        <code>dsp-gateway apply</code> made this team as a file declares it, and the gateway refuses changes
        from elsewhere: the next apply would undo them. Its keys are issued, rolled and revoked here as ever.
      </p>
      <p>
        To see what differs between the file and the gateway:{' '}
        <a href={hrefOf(['teams'], { form: 'apply' })}>look at the file here</a>, or{' '}
        <code>dsp-gateway apply -f teams.yaml --dry-run</code>. To change the team, change the file and apply
        it. To manage it by hand, take it out of the file and apply that with <code>--release</code>.
      </p>
      <p>
        <a href={hrefOf(['audit'], { team: id })}>What was changed of it, and by whom</a>
      </p>
    </Card>
  );
}
