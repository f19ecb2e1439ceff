import ipaddr from 'ipaddr.js';
import { GatewayError } from '../../errors.js';
import type { Caller } from '../auth/authenticate.js';

/** @throws GatewayError `ip_forbidden` */
export function checkAddress({ team: { ipAllow } }: Caller, address: string): void {
  if (ipAllow.length > 0 && !ipAllow.some((range) => isInRange(address, range)))
    throw new GatewayError('ip_forbidden');
}

/** Whether a text is a full IPv4 or IPv6 address or CIDR range. */
export function isAddressRange(text: string): boolean {
  return parseRange(text) !== null;
}

type Range = readonly [network: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** Refuses `127.1`, `10/8` and `0x7f000001`, which ipaddr.js accepts: they are probably mistakes. */
function parseRange(text: string): Range | null {
  const isRange = text.includes('/');
  if (text.includes(':')) {
    if (isRange) return ipaddr.IPv6.isValidCIDR(text) ? unmapped(ipaddr.IPv6.parseCIDR(text)) : null;
    return ipaddr.IPv6.isValid(text) ? unmapped([ipaddr.IPv6.parse(text), 128]) : null;
  }
  if (isRange) return ipaddr.IPv4.isValidCIDRFourPartDecimal(text) ? ipaddr.IPv4.parseCIDR(text) : null;
  return ipaddr.IPv4.isValidFourPartDecimal(text) ? [ipaddr.IPv4.parse(text), 32] : null;
}

/** IPv4-mapped IPv6 addresses (`::ffff:10.0.0.1`) count as IPv4. */
function unmapped([network, bits]: readonly [ipaddr.IPv6, number]): Range {
  return network.isIPv4MappedAddress() && bits >= 96 ? [network.toIPv4Address(), bits - 96] : [network, bits];
}

function isInRange(address: string, text: string): boolean {
  const range = parseRange(text);
  if (range === null || !ipaddr.isValid(address)) return false;
  const caller = ipaddr.process(address);
  const [network, bits] = range;
  return caller.kind() === network.kind() && caller.match(network as ipaddr.IPv4, bits);
}
