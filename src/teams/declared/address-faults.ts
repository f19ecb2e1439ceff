import type { FieldFault } from '../../errors.js';
import { isAddressRange } from '../policy/check-address.js';

/** What the schema of a team cannot say: that its addresses are some. @param place of the team in the body or file */
export function addressFaults(ipAllow: readonly string[] = [], place = ''): FieldFault[] {
  return ipAllow.flatMap((range, index) =>
    isAddressRange(range)
      ? []
      : [
          {
            param: `${place}ipAllow.${index}`,
            message: 'must be an IPv4 or IPv6 address, or a range such as 10.0.0.0/8',
          },
        ],
  );
}
