import ipaddr from 'ipaddr.js';
import type { Caller } from '../auth/authenticate.js';
import { GatewayError } from '../errors.js';

/** The caller's address is in the team's list, when it has one. */
export function checkAddress({
  caller,
  address,
}: {
  readonly caller: Caller;
  readonly address: string;
}): void {
  const { ipAllow } = caller.team;
  if (ipAllow.length > 0 && !ipAllow.some((range) => isInRange(address, range)))
    throw new GatewayError('ip_forbidden');
}

/** Whether a text is an address or a CIDR range, IPv4 or IPv6. */
export function isAddressRange(text: string): boolean {
  return text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text) && isFullAddress(text);
}

/** ipaddr.js also takes `127.1` and `0x7f000001`; in an allow list they are more likely slips. */
function isFullAddress(text: string): boolean {
  return text.includes(':') || ipaddr.IPv4.isValidFourPartDecimal(text);
}

/** IPv4 addresses mapped into IPv6 (`::ffff:10.0.0.1`) count as IPv4. */
function isInRange(address: string, range: string): boolean {
  if (!ipaddr.isValid(address) || !isAddressRange(range)) return false;
  const caller = ipaddr.process(address);
  const [network, bits] = range.includes('/')
    ? ipaddr.parseCIDR(range)
    : ([ipaddr.process(range), null] as const);
  if (caller.kind() !== network.kind()) return false;
  return bits === null
    ? caller.toNormalizedString() === network.toNormalizedString()
    : caller.match(network as ipaddr.IPv4, bits);
}
