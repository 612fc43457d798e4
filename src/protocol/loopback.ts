/**
 * Returns true if an address is a loopback address, which only this machine can reach. Returns
 * false for host names, because a name can resolve to any address.
 */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
